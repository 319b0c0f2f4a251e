/// Lesson 3: LayerNorm, which gives every row the same scale.
#pragma once

#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 3, 03_layer_norm.
namespace lesson_03 {

using namespace rungs;

/// Each row for itself: out = (x - mean) / √(variance + epsilon) · weight + bias.
/// The variance divides by C, not by C - 1.  out, x: (T, C); weight, bias: (C).
/// Ba, Kiros, Hinton 2016, "Layer Normalization".
void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon);

/// logits = LayerNorm(embed(tokens)) · Wᵀ + b.  logits: (T, V); tokens: (T) i32.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w);

}  // namespace lesson_03
