#include <cmath>

#include "04_feed_forward/lesson.hpp"
#include "09_multi_head/lesson.hpp"
#include "10_grouped_query/lesson.hpp"
#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_11 {

using lesson_09::merge_heads;
using lesson_09::split_heads;
using lesson_10::sdpa;

void rope_table(Tensor& cos, Tensor& sin, double theta) {
  const int64_t context = cos.dim(0), D = 2 * cos.dim(1);

  for (int64_t p = 0; p < context; ++p)
    for (int64_t i = 0; i < D / 2; ++i) {
      // >>> cos(p, i) and sin(p, i) of the angle p / theta^(2i/D), computed as a double
      const double angle = double(p) / std::pow(theta, 2.0 * double(i) / double(D));
      cos(p, i) = float(std::cos(angle));
      sin(p, i) = float(std::sin(angle));
      // <<<
    }
}

void apply_rope(Tensor& x, const Tensor& cos, const Tensor& sin, int64_t start_pos) {
  const int64_t T = x.dim(0), H = x.dim(1), half = x.dim(2) / 2;

  for (int64_t t = 0; t < T; ++t)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t i = 0; i < half; ++i) {
        // >>> turn the pair x(t, h, i), x(t, h, i + half) by the angle of position start_pos + t
        const float c = cos(start_pos + t, i), s = sin(start_pos + t, i);
        const float a = x(t, h, i), b = x(t, h, i + half);
        x(t, h, i) = a * c - b * s;
        x(t, h, i + half) = a * s + b * c;
        // <<<
      }
}

void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads, int64_t kv_heads,
               const RopeTables& rotary, LayerCache& cache, int64_t start_pos) {
  const int64_t T = x.dim(0), S = start_pos + T, width = w.q.weight.dim(0), kv_width = w.k.weight.dim(0);
  Tensor all_q({T, width}), all_k({T, kv_width}), all_v({T, kv_width});  // (T, H·D), (T, G·D), (T, G·D)
  ops.linear(all_q, x, w.q.weight, w.q.bias);
  ops.linear(all_k, x, w.k.weight, w.k.bias);
  ops.linear(all_v, x, w.v.weight, w.v.bias);
  Tensor q = split_heads(all_q, heads);                                               // (T, H, D)
  Tensor new_k = split_heads(all_k, kv_heads), new_v = split_heads(all_v, kv_heads);  // (T, G, D)

  // >>> rotate what a position belongs to, with rotary.cos and rotary.sin
  apply_rope(q, rotary.cos, rotary.sin, start_pos);
  apply_rope(new_k, rotary.cos, rotary.sin, start_pos);
  // <<<
  tap("q", q), tap("k", new_k), tap("v", new_v);

  Tensor k_rows = cache.k.view_rows(start_pos, T), v_rows = cache.v.view_rows(start_pos, T);  // (T, G, D)
  ops.copy(k_rows, new_k);
  ops.copy(v_rows, new_v);

  Tensor attn_out(q.shape());  // (T, H, D): what each head of each token has read
  sdpa(attn_out, q, cache.k.view_rows(0, S), cache.v.view_rows(0, S));
  tap("attn_out", attn_out);
  ops.linear(out, merge_heads(attn_out), w.o.weight, w.o.bias);
}

void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C}), normed({T, C}), attended({T, C});  // (T, C)
  // >>> x = the token embeddings alone: ops.embedding takes the rows of a table
  ops.embedding(x, w.token_embedding, tokens);
  // <<<
  tap("x", x);

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer tap_layer{int64_t(i)};
    const LayerWeights& layer = w.layers[i];
    ops.layer_norm(normed, x, layer.attention_norm.weight, layer.attention_norm.bias, w.epsilon);
    tap("attention_normed", normed);
    attention(ops, attended, normed, layer.attention, w.num_heads, w.num_kv_heads, w.rotary, cache.layers[i],
              start_pos);
    tap("attention", attended);
    ops.add(x, attended);
    lesson_04::feed_forward(ops, x, layer, w.epsilon);
    tap("x", x);
  }

  ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
  tap("normed", normed);
  ops.linear(logits, normed, w.output.weight, w.output.bias);  // (T, V)
}

}  // namespace lesson_11
