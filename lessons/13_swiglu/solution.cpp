#include <cmath>

#include "11_rope/lesson.hpp"
#include "12_rms_norm/lesson.hpp"
#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_13 {

using lesson_12::rms_norm;

void silu(Tensor& x) {
  // >>> every element x becomes x / (1 + exp(-x))
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = x.flat(i) / (1 + std::exp(-x.flat(i)));
  // <<<
}

void swiglu(Tensor& gate, const Tensor& up) {
  // >>> gate = silu(gate), then each element times the one of up at the same place
  silu(gate);
  for (int64_t i = 0; i < gate.count(); ++i) gate.flat(i) *= up.flat(i);
  // <<<
}

void feed_forward(Ops& ops, Tensor& x, const LayerWeights& w, float epsilon) {
  const int64_t T = x.dim(0), C = x.dim(1), F = w.up.weight.dim(0);
  Tensor normed({T, C}), down({T, C});  // (T, C)
  rms_norm(normed, x, w.ffn_norm.weight, epsilon);
  tap("normed", normed);

  Tensor gate({T, F}), up({T, F});  // (T, F)
  // >>> gate = normed · Wᵀ with w.gate, up = normed · Wᵀ with w.up; a bias of {} is none
  ops.linear(gate, normed, w.gate.weight, {});
  ops.linear(up, normed, w.up.weight, {});
  // <<<
  tap("gate", gate), tap("up", up);

  // >>> gate = silu(gate) ∘ up
  swiglu(gate, up);
  // <<<
  tap("hidden", gate);

  // >>> down = gate · Wᵀ with w.down; then add it to x
  ops.linear(down, gate, w.down.weight, {});
  ops.add(x, down);
  // <<<
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
    rms_norm(normed, x, layer.attention_norm.weight, w.epsilon);
    tap("attention_normed", normed);
    lesson_11::attention(ops, attended, normed, layer.attention, w.num_heads, w.num_kv_heads, w.rotary, cache.layers[i],
                         start_pos);
    tap("attention", attended);
    ops.add(x, attended);
    feed_forward(ops, x, layer, w.epsilon);
    tap("x", x);
  }

  rms_norm(normed, x, w.final_norm.weight, w.epsilon);
  tap("normed", normed);
  // >>> logits = normed · Wᵀ with w.output, which has no bias either
  ops.linear(logits, normed, w.output.weight, {});  // (T, V)
  // <<<
}

}  // namespace lesson_13
