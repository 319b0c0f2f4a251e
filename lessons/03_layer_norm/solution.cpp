#include <cmath>

#include "02_embedding/lesson.hpp"
#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_03 {

void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  const int64_t T = x.dim(0), C = x.dim(1);

  Tensor mean({T});  // (T): one for each row
  // >>> mean of row t = the sum of its C elements, divided by C
  for (int64_t t = 0; t < T; ++t) {
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += x(t, c);
    mean(t) = sum / float(C);
  }
  // <<<
  tap("mean", mean);

  Tensor variance({T});  // (T)
  // >>> variance of row t = the mean of the squared distances of its elements from its mean
  for (int64_t t = 0; t < T; ++t) {
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += (x(t, c) - mean(t)) * (x(t, c) - mean(t));
    variance(t) = sum / float(C);
  }
  // <<<
  tap("variance", variance);

  // >>> out = (x - mean) / √(variance + epsilon) · weight + bias
  for (int64_t t = 0; t < T; ++t) {
    const float scale = 1 / std::sqrt(variance(t) + epsilon);
    for (int64_t c = 0; c < C; ++c) out(t, c) = (x(t, c) - mean(t)) * scale * weight(c) + bias(c);
  }
  // <<<
}

void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C});  // (T, C)
  lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding);
  tap("x", x);

  Tensor normed({T, C});  // (T, C)
  // >>> normed = LayerNorm of x with w.final_norm and w.epsilon
  layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
  // <<<
  tap("normed", normed);

  ops.linear(logits, normed, w.output.weight, w.output.bias);  // (T, V)
}

}  // namespace lesson_03
