#include <cmath>

#include "04_feed_forward/lesson.hpp"
#include "11_rope/lesson.hpp"
#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_12 {

void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) {
  const int64_t T = x.dim(0), C = x.dim(1);

  Tensor mean_square({T});  // (T): one for each row
  // >>> mean_square of row t = the sum of the squares of its C elements, divided by C
  for (int64_t t = 0; t < T; ++t) {
    float sum = 0;
    for (int64_t c = 0; c < C; ++c) sum += x(t, c) * x(t, c);
    mean_square(t) = sum / float(C);
  }
  // <<<
  tap("mean_square", mean_square);

  // >>> out = x / √(mean_square + epsilon) · weight
  for (int64_t t = 0; t < T; ++t) {
    const float scale = 1 / std::sqrt(mean_square(t) + epsilon);
    for (int64_t c = 0; c < C; ++c) out(t, c) = x(t, c) * scale * weight(c);
  }
  // <<<
}

void feed_forward(Ops& ops, Tensor& x, const LayerWeights& w, float epsilon) {
  const int64_t T = x.dim(0), C = x.dim(1), F = w.up.weight.dim(0);
  Tensor normed({T, C}), down({T, C});  // (T, C)
  // >>> normed = RMSNorm of x with w.ffn_norm; x stays as it is
  rms_norm(normed, x, w.ffn_norm.weight, epsilon);
  // <<<
  tap("normed", normed);

  Tensor hidden({T, F});  // (T, F)
  ops.linear(hidden, normed, w.up.weight, w.up.bias);
  tap("up", hidden);
  lesson_04::relu(hidden);
  tap("hidden", hidden);
  ops.linear(down, hidden, w.down.weight, w.down.bias);
  ops.add(x, down);
}

void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C}), normed({T, C}), attended({T, C});  // (T, C)
  ops.embedding(x, w.token_embedding, tokens);
  tap("x", x);

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer tap_layer{int64_t(i)};
    const LayerWeights& layer = w.layers[i];
    // >>> normed = RMSNorm of x with layer.attention_norm
    rms_norm(normed, x, layer.attention_norm.weight, w.epsilon);
    // <<<
    tap("attention_normed", normed);
    lesson_11::attention(ops, attended, normed, layer.attention, w.num_heads, w.num_kv_heads, w.rotary, cache.layers[i],
                         start_pos);
    tap("attention", attended);
    ops.add(x, attended);
    feed_forward(ops, x, layer, w.epsilon);
    tap("x", x);
  }

  // >>> normed = RMSNorm of x with w.final_norm
  rms_norm(normed, x, w.final_norm.weight, w.epsilon);
  // <<<
  tap("normed", normed);
  ops.linear(logits, normed, w.output.weight, w.output.bias);  // (T, V)
}

void add_rms_norm(Tensor& out, Tensor& x, const Tensor& y, const Tensor& weight, float epsilon) {
  const int64_t T = x.dim(0), C = x.dim(1);
  for (int64_t t = 0; t < T; ++t) {
    // >>> add row t of y to that of x, and in the same loop sum up its new squares; then row t of out
    float squares = 0;
    for (int64_t c = 0; c < C; ++c) {
      x(t, c) += y(t, c);
      squares += x(t, c) * x(t, c);
    }
    const float root = std::sqrt(squares / float(C) + epsilon);
    for (int64_t c = 0; c < C; ++c) out(t, c) = x(t, c) / root * weight(c);
    // <<<
  }
}

}  // namespace lesson_12
