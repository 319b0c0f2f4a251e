#include <cmath>
#include <limits>

#include "02_embedding/lesson.hpp"
#include "04_feed_forward/lesson.hpp"
#include "05_attention/lesson.hpp"
#include "lesson.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_09 {

using lesson_05::softmax;

Tensor split_heads(Tensor& x, int64_t heads) {
  Tensor apart;
  // >>> apart = x, of shape (N, H·D), seen as (N, H, D); `reshaped` looks at the same memory
  apart = x.reshaped({x.dim(0), heads, x.dim(1) / heads});
  // <<<
  return apart;
}

ConstTensor merge_heads(const Tensor& x) {
  ConstTensor merged;
  // >>> merged = x, of shape (N, H, D), seen as (N, H·D)
  merged = x.reshaped({x.dim(0), x.dim(1) * x.dim(2)});
  // <<<
  return merged;
}

Tensor one_head(const Tensor& x, int64_t head) {
  const int64_t N = x.dim(0), D = x.dim(2);
  Tensor out({N, D});
  // >>> out(n, d) = the element of row n that belongs to this head and dim d
  for (int64_t n = 0; n < N; ++n)
    for (int64_t d = 0; d < D; ++d) out(n, d) = x(n, head, d);
  // <<<
  return out;
}

void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t T = q.dim(0), H = q.dim(1), D = q.dim(2), S = k.dim(0);

  Tensor scores({H, T, S});  // (H, T, S): head h, query t, key s
  for (int64_t h = 0; h < H; ++h) {
    Tensor scores_h = scores[h];  // (T, S): the memory of head h
    // >>> scores_h = q · kᵀ / √D of head h alone
    matmul_transposed(scores_h, one_head(q, h), one_head(k, h));
    for (int64_t i = 0; i < T * S; ++i) scores_h.flat(i) /= std::sqrt(float(D));
    // <<<
  }
  tap("scores", scores);

  Tensor weights = scores.copy();  // (H, T, S): in each head each row will sum to one
  for (int64_t h = 0; h < H; ++h) {
    Tensor weights_h = weights[h];  // (T, S)
    // >>> the mask of lesson 8, then softmax, in weights_h
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = S - T + t + 1; s < S; ++s) weights_h(t, s) = -std::numeric_limits<float>::infinity();
    softmax(weights_h);
    // <<<
  }
  tap("weights", weights);

  for (int64_t h = 0; h < H; ++h) {
    Tensor read({T, D});  // (T, D): what head h reads
    // >>> read = weights of head h · v of head h; then put it where head h belongs in out, (T, H, D)
    matmul(read, weights[h], one_head(v, h));
    for (int64_t t = 0; t < T; ++t)
      for (int64_t d = 0; d < D; ++d) out(t, h, d) = read(t, d);
    // <<<
  }
}

void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads, LayerCache& cache,
               int64_t start_pos) {
  const int64_t T = x.dim(0), S = start_pos + T, width = w.q.weight.dim(0);  // width: H·D
  Tensor all_q({T, width}), all_k({T, width}), all_v({T, width});            // (T, H·D)
  ops.linear(all_q, x, w.q.weight, w.q.bias);
  ops.linear(all_k, x, w.k.weight, w.k.bias);
  ops.linear(all_v, x, w.v.weight, w.v.bias);

  Tensor q, new_k, new_v;  // (T, H, D)
  // >>> q, new_k and new_v = the same three with their heads apart
  q = split_heads(all_q, heads);
  new_k = split_heads(all_k, heads);
  new_v = split_heads(all_v, heads);
  // <<<
  tap("q", q), tap("k", new_k), tap("v", new_v);

  Tensor k_rows = cache.k.view_rows(start_pos, T), v_rows = cache.v.view_rows(start_pos, T);  // (T, H, D)
  ops.copy(k_rows, new_k);
  ops.copy(v_rows, new_v);

  Tensor attn_out(q.shape());  // (T, H, D): what each head of each token has read
  sdpa(attn_out, q, cache.k.view_rows(0, S), cache.v.view_rows(0, S));
  tap("attn_out", attn_out);
  // >>> merge the heads of attn_out and project to the width of the stream with w.o
  ops.linear(out, merge_heads(attn_out), w.o.weight, w.o.bias);
  // <<<
}

void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C}), normed({T, C}), attended({T, C});  // (T, C)
  lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding.view_rows(start_pos, T));
  tap("x", x);

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer tap_layer{int64_t(i)};
    const LayerWeights& layer = w.layers[i];
    ops.layer_norm(normed, x, layer.attention_norm.weight, layer.attention_norm.bias, w.epsilon);
    tap("attention_normed", normed);
    attention(ops, attended, normed, layer.attention, w.num_heads, cache.layers[i], start_pos);
    tap("attention", attended);
    ops.add(x, attended);
    lesson_04::feed_forward(ops, x, layer, w.epsilon);
    tap("x", x);
  }

  ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
  tap("normed", normed);
  ops.linear(logits, normed, w.output.weight, w.output.bias);  // (T, V)
}

}  // namespace lesson_09
