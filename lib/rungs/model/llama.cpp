#include "rungs/model/llama.hpp"

#include "rungs/model/memory_estimate.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

/// x += attention(rms_norm(x)).  x: (N, C), updated in place.
static void attention_sublayer(Ops& ops, Tensor& x, const LlamaLayer& w, const LlamaWeights& model, const Rows& rows,
                               LayerCache* cache, LlamaScratch& s) {
  const QkvWeights qkv{w.attention_norm, w.q, w.k, w.v, model.epsilon};
  ops.self_attention(s.context, {s.normed, s.q, s.k, s.v}, x, qkv, model.rotary, rows, cache);  // (N, H, D)
  tap("context", s.context);
  const Tensor joined = s.context.reshaped({x.dim(0), w.o.dim(1)});  // (N, H·D)
  ops.add_linear(x, s.projected, joined, w.o);                       // residual
  tap("attention", s.projected);
}

/// x += down(silu(gate(h)) ∘ up(h)), h = rms_norm(x).  x: (N, C), updated in place.
static void feed_forward_sublayer(Ops& ops, Tensor& x, const LlamaLayer& w, float epsilon, LlamaScratch& s) {
  ops.norm_gated(s.normed, s.hidden, s.up, x, {w.ffn_norm, w.gate, w.up, epsilon});  // (N, F)
  tap("hidden", s.hidden);
  ops.add_linear(x, s.projected, s.hidden, w.down);  // residual
  tap("x", x);
}

void Llama::forward(Tensor& logits, const Batch& batch, KvCache* cache) {
  const Rows& rows = rows_.fill(ops_, batch, config(), cache);
  const Call call{logits, rows, cache};
  if (!cache || !rows.is_decode()) return run(call);
  const StepKey key{this, logits.raw(), cache->layers[0].k.raw(), rows.token.count(), rows.wanted.count()};
  ops_.replay(key, [this, &call] { run(call); });
}

// Where rows stand one a sequence, all that a step needs to know of them is in the memory of the device.
void Llama::run(const Call& call) {
  const auto& [logits, rows, cache] = call;
  LlamaScratch s = rows_of_scratch(rows.token.count());
  const LlamaWeights& w = checkpoint_.weights;

  ops_.embedding(s.x, w.token_embedding, rows.token);  // (N, C)
  tap("x", s.x);
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer layer{int64_t(i)};
    attention_sublayer(ops_, s.x, w.layers[i], w, rows, cache ? &cache->layers[i] : nullptr, s);
    feed_forward_sublayer(ops_, s.x, w.layers[i], w.epsilon, s);
  }
  s.wanted = s.wanted.view_rows(0, rows.wanted.count());
  s.normed = s.normed.view_rows(0, rows.wanted.count());
  ops_.embedding(s.wanted, s.x, rows.wanted);                     // (M, C)
  ops_.rms_norm(s.normed, s.wanted, w.final_norm, w.epsilon);  // (M, C)
  tap("normed", s.normed);
  ops_.linear(logits, s.normed, w.output, {});  // (M, V)
  tap("logits", logits);
}

LlamaScratch Llama::rows_of_scratch(int64_t n) const {
  const auto rows = [n](const Tensor& t) { return t.view_rows(0, n); };
  const LlamaScratch& s = scratch_;
  return {rows(s.x), rows(s.normed), rows(s.projected), rows(s.q),  rows(s.context),
          rows(s.k), rows(s.v),      rows(s.hidden),    rows(s.up), rows(s.wanted)};
}

static LlamaScratch plan_llama_scratch(Ops& ops, const Config& c, int64_t n) {
  const auto room = [&](int64_t columns) { return ops.allocate({n, columns}); };
  const auto heads = [&](int64_t count) { return ops.allocate({n, count, c.head_width}); };
  return {room(c.width),     room(c.width),     room(c.width),       heads(c.heads),      heads(c.heads),
          heads(c.kv_heads), heads(c.kv_heads), room(c.inner_width), room(c.inner_width), room(c.width)};
}

/// Calls visit with the weights that are used together, as Ops::settle wants them.
template <class Visit>
static void each_group(LlamaWeights& w, const Visit& visit) {
  const bool tied = w.output.raw() == w.token_embedding.raw();
  visit({&w.token_embedding});
  for (LlamaLayer& layer : w.layers) {
    visit({&layer.attention_norm});
    visit({&layer.q, &layer.k, &layer.v});
    visit({&layer.o});
    visit({&layer.ffn_norm});
    visit({&layer.gate, &layer.up});
    visit({&layer.down});
  }
  visit({&w.final_norm});
  if (tied)
    w.output = w.token_embedding.view();
  else
    visit({&w.output});
  visit({&w.rotary.cos});
  visit({&w.rotary.sin});
}

using Group = std::initializer_list<Tensor*>;

static void settle(Ops& ops, const Config& config, LlamaWeights& w, const LoadOptions& options) {
  int64_t bytes = 0;
  each_group(w, [&](Group group) {
    for (const Tensor* weight : group) bytes += int64_t(weight->bytes());
  });
  const int64_t angles = int64_t(w.rotary.cos.bytes() + w.rotary.sin.bytes());
  check_memory(ops, config, bytes - angles, options);
  each_group(w, [&](Group group) { ops.settle(group); });
}

Llama::Llama(Ops& ops, const std::filesystem::path& directory, const LoadOptions& options)
    : Llama(ops, LlamaCheckpoint(directory, options.context), options) {}

Llama::Llama(Ops& ops, LlamaCheckpoint checkpoint, const LoadOptions& options)
    : ops_(ops),
      checkpoint_(std::move(checkpoint)),
      max_rows_(options.max_rows ? options.max_rows : config().context),
      rows_(ops, max_rows_) {
  settle(ops, config(), checkpoint_.weights, options);
  scratch_ = plan_llama_scratch(ops, config(), max_rows_);
}

}  // namespace rungs
