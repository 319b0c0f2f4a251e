/// Products of a weight with few rows: bound by reading the weight, so each of its rows is read once.
#pragma once

#include <cstdint>

#include "tensor/tensor.hpp"

namespace rungs {

/// Rows of x up to which product_of_few_rows is the faster way.
inline constexpr int64_t few_rows = 12;

/// Columns [first, last) of out = x · weightᵀ, on the calling thread.  out: (N, K) f32; x: (N, C) f32; weight: (K, C)
/// f32, bf16 or f16. The sums are f32, and the same whatever N, the columns and the threads are. Shapes are the
/// caller's to check. \throws ShapeError for a weight of another dtype.
void product_of_few_rows(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

}  // namespace rungs
