/// Lesson 6s: a sliding window, so that a token reads the last few alone.
#pragma once

#include "rungs/tensor/tensor.hpp"

/// The stretch of lesson 6, 06s_sliding_window.
namespace lesson_06s {

using namespace rungs;

/// As in lesson 6, but query t sees the last `window` keys alone: those at positions t - window + 1 to t, which are
/// fewer at the beginning.  out, q, k, v: (T, D); window: 1 or more.
/// Jiang and others 2023, "Mistral 7B", section 2.
void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, int64_t window);

/// How many tokens can change what stands at the last position after `layers` layers of attention with this window,
/// the last token itself included, in a text of T tokens.
int64_t receptive_field(int64_t layers, int64_t window, int64_t T);

}  // namespace lesson_06s
