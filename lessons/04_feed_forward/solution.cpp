#include "02_embedding/lesson.hpp"
#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_04 {

void relu(Tensor& x) {
  // >>> every negative element of x becomes 0
  for (int64_t i = 0; i < x.count(); ++i)
    if (x.flat(i) < 0) x.flat(i) = 0;
  // <<<
}

void feed_forward(Ops& ops, Tensor& x, const LayerWeights& w, float epsilon) {
  const int64_t T = x.dim(0), C = x.dim(1), F = w.up.weight.dim(0);

  Tensor normed({T, C});  // (T, C)
  // >>> normed = LayerNorm of x with w.ffn_norm, through ops.layer_norm; x stays as it is
  ops.layer_norm(normed, x, w.ffn_norm.weight, w.ffn_norm.bias, epsilon);
  // <<<
  tap("normed", normed);

  Tensor hidden({T, F});  // (T, F): wider than the stream
  // >>> hidden = normed · Wᵀ + b with w.up
  ops.linear(hidden, normed, w.up.weight, w.up.bias);
  // <<<
  tap("up", hidden);

  // >>> hidden = relu(hidden)
  relu(hidden);
  // <<<
  tap("hidden", hidden);

  Tensor down({T, C});  // (T, C)
  // >>> down = hidden · Wᵀ + b with w.down; then add it to x
  ops.linear(down, hidden, w.down.weight, w.down.bias);
  ops.add(x, down);
  // <<<
}

void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C}), normed({T, C});  // (T, C)
  lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding);
  tap("x", x);

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer layer{int64_t(i)};
    feed_forward(ops, x, w.layers[i], w.epsilon);
    tap("x", x);
  }

  ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
  tap("normed", normed);
  ops.linear(logits, normed, w.output.weight, w.output.bias);  // (T, V)
}

}  // namespace lesson_04
