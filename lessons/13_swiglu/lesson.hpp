/// Lesson 13: SwiGLU, a feed-forward with a gate.
#pragma once

#include "rungs/model/cache.hpp"
#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 13, 13_swiglu.
namespace lesson_13 {

using namespace rungs;

/// x = x · sigmoid(x) = x / (1 + exp(-x)), element by element, in place.  x: any shape.
/// Elfwing, Uchibe, Doya 2017, "Sigmoid-Weighted Linear Units"; also called Swish.
void silu(Tensor& x);

/// gate = silu(gate) ∘ up, element by element, in place.  gate, up: (T, F).
void swiglu(Tensor& gate, const Tensor& up);

/// x += down(silu(gate(n)) ∘ up(n)) with n = RMSNorm(x), in place. There are no biases.
/// x: (T, C); w.gate, w.up: (F, C); w.down: (C, F).  Shazeer 2020, "GLU Variants Improve Transformer", equation 6.
void feed_forward(Ops& ops, Tensor& x, const LayerWeights& w, float epsilon);

/// As in lesson 12, with the gated feed-forward and without any bias: but for names in a file, this is LLaMA.
/// logits: (T, V); tokens: (T) i32; one LayerCache a layer.
/// \throws ShapeError past the end of the cache or of the context: nothing is clamped.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos);

}  // namespace lesson_13
