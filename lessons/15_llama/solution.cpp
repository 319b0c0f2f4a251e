#include <algorithm>
#include <cmath>
#include <numbers>

#include "07_generate/lesson.hpp"
#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_15 {

RopeTables rotary_table(const RopeConfig& rope, int64_t head_dim, int64_t context) {
  using Scaling = RopeConfig::Scaling;
  const int64_t half = head_dim / 2;
  Tensor cos({context, half}), sin({context, half});
  for (int64_t i = 0; i < half; ++i) {
    double f = std::pow(rope.theta, -2.0 * double(i) / double(head_dim));
    // >>> Scaling::linear divides each f by rope.factor; Scaling::llama3 that of slow pairs, and blends up to fast ones
    if (rope.scaling == Scaling::linear) f /= rope.factor;
    if (rope.scaling == Scaling::llama3) {
      const double turns = double(rope.original_context) * f / (2 * std::numbers::pi);
      double kept = (turns - rope.low_frequency) / (rope.high_frequency - rope.low_frequency);
      kept = std::clamp(kept, 0.0, 1.0);
      f = kept * f + (1 - kept) * f / rope.factor;
    }
    // <<<
    for (int64_t p = 0; p < context; ++p) {
      cos(p, i) = float(std::cos(double(p) * f));
      sin(p, i) = float(std::sin(double(p) * f));
    }
  }
  return {std::move(cos), std::move(sin)};
}

ConstTensor output_weight(const TensorSet& file, const Config& config) {
  // >>> a view of file.get("lm_head.weight"), or of file.get("model.embed_tokens.weight") where config.tied
  return file.get(config.tied ? "model.embed_tokens.weight" : "lm_head.weight").view();
  // <<<
}

/// A list of numbers as a tensor: the same memory, not a copy.
static ConstTensor tensor_of(const Ids& numbers) {
  return Tensor::view_of(numbers.data(), {int64_t(numbers.size())}, DType::i32);
}

void attention(Ops& ops, Tensor& out, const Tensor& x, const LlamaLayer& layer, const LlamaWeights& w,
               const Batch& batch, LayerCache& cache) {
  const int64_t N = batch.rows(), H = w.num_heads, G = w.num_kv_heads, D = layer.qkv.q.dim(0) / H;
  Tensor q({N, H, D}), k({N, G, D}), v({N, G, D});
  Tensor q_row = q.reshaped({N, H * D}), k_row = k.reshaped({N, G * D}), v_row = v.reshaped({N, G * D});  // same memory
  // >>> q_row, k_row, v_row = x times layer.qkv.q, layer.qkv.k, layer.qkv.v: ops.linear, whose bias is empty here: {}
  ops.linear(q_row, x, layer.qkv.q, {});
  ops.linear(k_row, x, layer.qkv.k, {});
  ops.linear(v_row, x, layer.qkv.v, {});
  // <<<
  const ConstTensor position = tensor_of(batch.position);  // (N)
  // >>> turn the queries and the keys, each row by its own position: ops.apply_rope
  ops.apply_rope(q, w.rotary, position);
  ops.apply_rope(k, w.rotary, position);
  // <<<
  tap("q", q), tap("k", k), tap("v", v);

  Tensor attn_out({N, H, D});  // (N, H, D): what each row has read
  for (int64_t n = 0; n < N; ++n) {
    const int64_t b = batch.sequence[size_t(n)], p = batch.position[size_t(n)];
    const Tensor query = q.view_rows(n, 1);  // (1, H, D)
    Tensor read = attn_out.view_rows(n, 1);  // (1, H, D)
    // >>> copy row n of k and v to row p of the cache of sequence b; then ops.sdpa over its rows up to p
    Tensor keys = cache.k[b], values = cache.v[b];                      // (capacity, G, D)
    Tensor key = keys.view_rows(p, 1), value = values.view_rows(p, 1);  // (1, G, D)
    ops.copy(key, k.view_rows(n, 1));
    ops.copy(value, v.view_rows(n, 1));
    ops.sdpa(read, query, keys.view_rows(0, p + 1), values.view_rows(0, p + 1));
    // <<<
  }
  tap("attn_out", attn_out);
  ops.linear(out, attn_out.reshaped({N, H * D}), layer.o, {});
}

void feed_forward(Ops& ops, Tensor& x, const LlamaLayer& layer, float epsilon) {
  const int64_t N = x.dim(0), C = x.dim(1), F = layer.gate_up.gate.dim(0);
  Tensor normed({N, C}), gate({N, F}), up({N, F}), down({N, C});
  // >>> `normed` = ops.rms_norm of x; `gate` and `up` are its two projections
  ops.rms_norm(normed, x, layer.ffn_norm, epsilon);
  ops.linear(gate, normed, layer.gate_up.gate, {});
  ops.linear(up, normed, layer.gate_up.up, {});
  // <<<
  tap("normed", normed), tap("gate", gate), tap("up", up);
  // >>> gate = silu(gate) ∘ up, with ops.silu_mul; `down` is its projection, and is added to x
  ops.silu_mul(gate, up);
  ops.linear(down, gate, layer.down, {});
  ops.add(x, down);
  // <<<
}

void llama_forward(Ops& ops, Tensor& logits, const Batch& batch, const LlamaWeights& w, KvCache& cache) {
  const int64_t N = batch.rows(), M = int64_t(batch.logit_rows.size()), C = w.token_embedding.dim(1);
  Tensor x({N, C}), normed({N, C}), attended({N, C});  // (N, C)
  ops.embedding(x, w.token_embedding, tensor_of(batch.token));
  tap("x", x);

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer tap_layer{int64_t(i)};
    const LlamaLayer& layer = w.layers[i];
    // >>> `normed` = ops.rms_norm of x; attention reads it, and what it gives is added to x; then feed_forward
    ops.rms_norm(normed, x, layer.attention_norm, w.epsilon);
    attention(ops, attended, normed, layer, w, batch, cache.layers[i]);
    ops.add(x, attended);
    feed_forward(ops, x, layer, w.epsilon);
    // <<<
    tap("x", x);
  }

  Tensor wanted({M, C}), last({M, C});  // (M, C): the rows that the caller asked for
  // >>> gather the wanted rows of x, norm them with final_norm, and project them to the logits
  ops.embedding(wanted, x, tensor_of(batch.logit_rows));
  ops.rms_norm(last, wanted, w.final_norm, w.epsilon);
  ops.linear(logits, last, w.output, {});  // (M, V)
  // <<<
  tap("normed", last);
}

/// Room for the keys and values of B sequences of up to `capacity` tokens.
static KvCache empty_cache(const LlamaWeights& w, int64_t B, int64_t capacity) {
  KvCache cache;
  for (const LlamaLayer& layer : w.layers) {
    const Shape shape{B, capacity, w.num_kv_heads, layer.qkv.k.dim(0) / w.num_kv_heads};  // (B, capacity, G, D)
    cache.layers.push_back({Tensor(shape), Tensor(shape)});
  }
  return cache;
}

std::vector<Ids> generate(Ops& ops, const LlamaWeights& w, int32_t bos, const std::vector<Ids>& prompts,
                          const GenerateOptions& options, const std::function<double(int64_t)>& draw,
                          const std::function<void(int64_t, int32_t)>& show) {
  const int64_t V = w.output.dim(0), context = w.rotary.cos.dim(0);
  std::vector<Ids> feed = prompts, made(prompts.size());  // feed[b]: what the cache has not seen; nothing: it has ended
  std::vector<int64_t> start_pos(prompts.size(), 0);      // of the first token of feed[b]
  // >>> put bos in front of every prompt in `feed`
  for (Ids& ids : feed) ids.insert(ids.begin(), bos);
  // <<<
  size_t longest = 0;
  for (const Ids& ids : feed) longest = std::max(longest, ids.size());
  const int64_t capacity = std::min(context, int64_t(longest) + options.max_tokens);
  KvCache cache = empty_cache(w, int64_t(feed.size()), capacity);

  while (true) {
    Batch batch;
    std::vector<size_t> running;  // running[i]: the sequence whose logits are row i
    for (size_t b = 0; b < feed.size(); ++b) {
      if (feed[b].empty()) continue;
      running.push_back(b);
      // >>> batch.add the tokens of feed[b] from start_pos[b] on, the last one's logits wanted; move start_pos[b]
      batch.add(int32_t(b), feed[b], start_pos[b], true);
      start_pos[b] += int64_t(feed[b].size());
      // <<<
    }
    if (running.empty()) return made;
    Tensor logits({int64_t(running.size()), V});
    llama_forward(ops, logits, batch, w, cache);

    for (size_t i = 0; i < running.size(); ++i) {
      const size_t b = running[i];
      Tensor p({V});
      // >>> append to made[b] what lesson_07 draws, with draw(b), from the logits of sequence b
      lesson_07::probabilities(p, logits[int64_t(i)], options.sampling);
      made[b].push_back(lesson_07::sample(p, draw(int64_t(b))));
      // <<<
      const int32_t token = made[b].back();
      show(int64_t(b), token);
      // >>> feed[b] = the new token alone, or nothing where the sequence ends with it
      const bool full = start_pos[b] + 1 == context || int64_t(made[b].size()) == options.max_tokens;
      feed[b] = full || options.ends(token) ? Ids{} : Ids{token};
      // <<<
    }
  }
}

}  // namespace lesson_15
