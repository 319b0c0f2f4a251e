/// Lesson 9s: ALiBi, where distance costs and no position is embedded.
#pragma once

#include "rungs/tensor/tensor.hpp"

/// The stretch of lesson 9, 09s_alibi.
namespace lesson_09s {

using namespace rungs;

/// The slope of each head, out: (H). Where H is a power of two: 2^(-8/H), 2^(-16/H), ..., 2^(-8). Otherwise those of
/// the largest power of two P below H, and then the 1st, 3rd, 5th, ... of the slopes of 2·P heads. Press, Smith and
/// Lewis 2021, "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation", section 3.
void alibi_slopes(Tensor& out);

/// As in lesson 9, but the score of a key that is d tokens before its query has slope · d subtracted:
/// out = softmax(mask(q · kᵀ / √D - slope_h · d)) · v.  out, q: (T, H, D); k, v: (S, H, D), S >= T; slopes: (H).
void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes);

}  // namespace lesson_09s
