#include "model/llama.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/tap.hpp"

namespace rungs {

/// x += attention(rms_norm(x)).  x: (N, C), updated in place.
static void attention_sublayer(Ops& ops, Tensor& x, const LlamaLayer& w, const LlamaWeights& model, const Rows& rows,
                               LayerCache* cache, LlamaScratch& s) {
  const QkvWeights qkv{w.attention_norm, w.q, w.k, w.v, model.epsilon};
  ops.norm_qkv(s.normed, s.q, s.k, s.v, x, qkv, model.rotary, rows);  // (N, H, D), (N, G, D), (N, G, D)
  tap("q", s.q), tap("k", s.k), tap("v", s.v);
  ops.attention(s.context, s.q, s.k, s.v, rows, cache);  // (N, H, D)
  tap("context", s.context);
  const Tensor joined = s.context.reshaped({x.dim(0), w.o.dim(1)});  // (N, H·D)
  ops.linear(s.projected, joined, w.o, {});                          // (N, C)
  tap("attention", s.projected);
  ops.add(x, s.projected);  // residual
}

/// x += down(silu(gate(h)) ∘ up(h)), h = rms_norm(x).  x: (N, C), updated in place.
static void feed_forward_sublayer(Ops& ops, Tensor& x, const LlamaLayer& w, float epsilon, LlamaScratch& s) {
  ops.norm_gated(s.normed, s.hidden, s.up, x, {w.ffn_norm, w.gate, w.up, epsilon});  // (N, F)
  tap("hidden", s.hidden);
  ops.linear(s.projected, s.hidden, w.down, {});  // (N, C)
  ops.add(x, s.projected);                        // residual
  tap("x", x);
}

void Llama::forward(Tensor& logits, const Batch& batch, KvCache* cache) {
  const Rows& rows = rows_.fill(ops_, batch, config(), cache);
  LlamaScratch s = rows_of_scratch(batch.rows());
  const LlamaWeights& w = checkpoint_.weights;

  ops_.gather(s.x, w.token_embedding, rows.token);  // (N, C)
  tap("x", s.x);
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer layer{int64_t(i)};
    attention_sublayer(ops_, s.x, w.layers[i], w, rows, cache ? &cache->layers[i] : nullptr, s);
    feed_forward_sublayer(ops_, s.x, w.layers[i], w.epsilon, s);
  }
  s.wanted = s.wanted.view_rows(0, rows.wanted.count());
  s.normed = s.normed.view_rows(0, rows.wanted.count());
  ops_.gather(s.wanted, s.x, rows.wanted);                     // (M, C)
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

static LlamaScratch plan_scratch(Ops& ops, const Config& c, int64_t n) {
  const auto room = [&](int64_t columns) { return ops.allocate({n, columns}); };
  const auto heads = [&](int64_t count) { return ops.allocate({n, count, c.head_width}); };
  return {room(c.width),     room(c.width),     room(c.width),       heads(c.heads),      heads(c.heads),
          heads(c.kv_heads), heads(c.kv_heads), room(c.inner_width), room(c.inner_width), room(c.width)};
}

Llama::Llama(Ops& ops, const std::filesystem::path& directory, const LoadOptions& options)
    : ops_(ops),
      checkpoint_(directory, options.context),
      max_rows_(options.max_rows ? options.max_rows : config().context),
      scratch_(plan_scratch(ops, config(), max_rows_)),
      rows_(ops, max_rows_) {}

}  // namespace rungs
