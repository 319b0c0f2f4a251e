#include "rungs/model/llama.hpp"

#include "rungs/model/memory_estimate.hpp"
#include "rungs/model/scratch.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

/// x += attention(rms_norm(x)).  x: (N, C), updated in place.
static void attention_block(Steps& steps, Tensor& x, const LlamaLayer& w, const LlamaWeights& model, const Rows& rows,
                            LayerCache* cache, LlamaScratch& s) {
  steps.self_attention(s.attn_out, {s.q, s.k, s.v}, s.normed, x, {w.attention_norm, model.epsilon}, w.qkv, model.rotary,
                       rows, cache);  // (N, H, D)
  tap("attn_out", s.attn_out);
  const ConstTensor flat = s.attn_out.reshaped({x.dim(0), w.o.dim(1)});  // (N, H·D)
  steps.add_linear(x, s.projected, flat, w.o);                           // residual
  tap("attention", s.projected);
}

/// x += down(silu(gate(h)) ∘ up(h)), h = rms_norm(x).  x: (N, C), updated in place.
static void feed_forward_block(Steps& steps, Tensor& x, const LlamaLayer& w, float epsilon, LlamaScratch& s) {
  steps.norm_swiglu(s.hidden, s.up, s.normed, x, {w.ffn_norm, epsilon}, w.gate_up);  // (N, F)
  tap("hidden", s.hidden);
  steps.add_linear(x, s.projected, s.hidden, w.down);  // residual
  tap("x", x);
}

void Llama::forward(Tensor& logits, const Batch& batch, KvCache* cache) {
  const Rows& rows = rows_.fill(backend_.device, batch, config(), cache);
  const Call call{logits, rows, cache};
  if (!cache || !rows.is_decode()) return run(call);
  backend_.steps.decode(this, logits, rows, cache->layers[0], [this, &call] { run(call); });
}

// Where rows stand one a sequence, all that a step needs to know of them is in the memory of the device.
void Llama::run(const Call& call) {
  const auto& [logits, rows, cache] = call;
  LlamaScratch s = rows_of_scratch(scratch_, config(), rows.token.count());
  const LlamaWeights& w = checkpoint_.weights;
  Ops& ops = backend_.ops;

  ops.embedding(s.x, w.token_embedding, rows.token);  // (N, C)
  tap("x", s.x);
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer layer{int64_t(i)};
    attention_block(backend_.steps, s.x, w.layers[i], w, rows, cache ? &cache->layers[i] : nullptr, s);
    feed_forward_block(backend_.steps, s.x, w.layers[i], w.epsilon, s);
  }
  s.last_x = s.last_x.view_rows(0, rows.logit_rows.count());
  s.normed = s.normed.view_rows(0, rows.logit_rows.count());
  ops.embedding(s.last_x, s.x, rows.logit_rows);              // (M, C)
  ops.rms_norm(s.normed, s.last_x, w.final_norm, w.epsilon);  // (M, C)
  tap("normed", s.normed);
  ops.linear(logits, s.normed, w.output, {});  // (M, V)
  tap("logits", logits);
}

/// Every weight; those of `qkv` and of `gate_up` one after the other.
static std::vector<ConstTensor*> all_weights(LlamaWeights& w) {
  std::vector<ConstTensor*> all = {&w.token_embedding};
  for (LlamaLayer& l : w.layers)
    all.insert(all.end(), {&l.attention_norm, &l.qkv.q, &l.qkv.k, &l.qkv.v, &l.o, &l.ffn_norm, &l.gate_up.gate,
                           &l.gate_up.up, &l.down});
  all.insert(all.end(), {&w.final_norm, &w.output});
  return all;
}

void upload_weights(const Backend& backend, const Config& config, LlamaWeights& w, const LoadOptions& options) {
  const bool tied = w.output.raw() == w.token_embedding.raw();
  int64_t bytes = tied ? -int64_t(w.output.bytes()) : 0;
  for (const ConstTensor* weight : all_weights(w)) bytes += int64_t(weight->bytes());
  Device& device = backend.device;
  check_memory(device, config, bytes, options);
  for (LlamaLayer& l : w.layers) {
    l.qkv.packed = device.pack_weights({&l.qkv.q, &l.qkv.k, &l.qkv.v});
    l.gate_up.packed = device.pack_weights({&l.gate_up.gate, &l.gate_up.up});
    for (ConstTensor* weight : {&l.attention_norm, &l.o, &l.ffn_norm, &l.down}) device.upload_weights(*weight);
  }
  for (ConstTensor* weight : {&w.token_embedding, &w.final_norm, &w.rotary.cos, &w.rotary.sin})
    device.upload_weights(*weight);
  if (tied)
    w.output = w.token_embedding.view();
  else
    device.upload_weights(w.output);
}

Llama::Llama(const Backend& backend, const std::filesystem::path& directory, const LoadOptions& options)
    : Llama(backend, LlamaCheckpoint(directory, options.context), options) {}

Llama::Llama(const Backend& backend, LlamaCheckpoint checkpoint, const LoadOptions& options)
    : backend_(backend),
      checkpoint_(std::move(checkpoint)),
      max_rows_(options.max_rows ? options.max_rows : config().max_seq_len),
      rows_(backend.device, max_rows_) {
  upload_weights(backend, config(), checkpoint_.weights, options);
  scratch_ = allocate_scratch<LlamaScratch>(backend.device, config(), max_rows_);
}

}  // namespace rungs
