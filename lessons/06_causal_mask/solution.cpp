#include <cmath>
#include <limits>

#include "02_embedding/lesson.hpp"
#include "04_feed_forward/lesson.hpp"
#include "05_attention/lesson.hpp"
#include "lesson.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_06 {

using lesson_05::softmax;

void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t T = q.dim(0), D = q.dim(1);

  Tensor scores({T, T});  // (T, T): query t, key s
  matmul_transposed(scores, q, k);
  for (int64_t i = 0; i < T * T; ++i) scores.flat(i) /= std::sqrt(float(D));
  tap("scores", scores);

  Tensor weights = scores.copy();  // (T, T): each row will sum to one
  // >>> in `weights`, hide from query t every key s that stands after it; then softmax each row
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = t + 1; s < T; ++s) weights(t, s) = -std::numeric_limits<float>::infinity();
  softmax(weights);
  // <<<
  tap("weights", weights);

  matmul(out, weights, v);
}

void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w) {
  const int64_t T = x.dim(0), D = w.q.weight.dim(0);
  Tensor q({T, D}), k({T, D}), v({T, D});  // (T, D)
  ops.linear(q, x, w.q.weight, w.q.bias);
  ops.linear(k, x, w.k.weight, w.k.bias);
  ops.linear(v, x, w.v.weight, w.v.bias);
  tap("q", q), tap("k", k), tap("v", v);

  Tensor attn_out({T, D});  // (T, D): what each token has read
  sdpa(attn_out, q, k, v);
  tap("attn_out", attn_out);
  ops.linear(out, attn_out, w.o.weight, w.o.bias);
}

void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C}), normed({T, C}), attended({T, C});  // (T, C)

  // >>> embed the tokens into x, with lesson_02::embed
  lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding);
  // <<<
  tap("x", x);

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer tap_layer{int64_t(i)};
    const LayerWeights& layer = w.layers[i];
    // >>> normed = LayerNorm of the stream with layer.attention_norm
    ops.layer_norm(normed, x, layer.attention_norm.weight, layer.attention_norm.bias, w.epsilon);
    // <<<
    tap("attention_normed", normed);
    // >>> attended = attention of normed with layer.attention
    attention(ops, attended, normed, layer.attention);
    // <<<
    tap("attention", attended);
    // >>> add it to the stream; then lesson_04::feed_forward, which adds its own part
    ops.add(x, attended);
    lesson_04::feed_forward(ops, x, layer, w.epsilon);
    // <<<
    tap("x", x);
  }

  // >>> normed = LayerNorm of the stream with w.final_norm
  ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
  // <<<
  tap("normed", normed);
  // >>> logits = normed · Wᵀ + b with w.output
  ops.linear(logits, normed, w.output.weight, w.output.bias);  // (T, V)
  // <<<
}

}  // namespace lesson_06
