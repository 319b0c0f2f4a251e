/// What decoding a token consists of: products of many rows with few. They are bound by reading the many, so each of
/// those is read once.
#pragma once

#include <cstdint>

#include "tensor/tensor.hpp"

namespace rungs {

/// Rows of x up to which product_of_few_rows is the faster way.
inline constexpr int64_t few_rows = 12;

/// Columns [first, last) of out = x · weightᵀ, on the calling thread.  out: (N, K) f32; x: (N, C) f32; weight: (K, C)
/// f32, bf16 or f16. The sums are f32; an element is the same to the last bit whatever N, the columns and the threads
/// are. Shapes are the caller's to check. \throws ShapeError for a weight of another dtype.
void product_of_few_rows(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

/// Rows of floats in memory, each `stride` floats after the one before.
struct StridedRows {
  const float* data;
  int64_t count, stride;
};

/// scores[n, s] = x[n] · keys[s].  x: N rows of D; keys: S rows of D; scores: (N, S).
void dots_with_rows(float* scores, const StridedRows& x, const StridedRows& keys, int64_t D);

/// out[n] = Σ over s of weights[n, s] · values[s].  weights: (N, S); values: S rows of D; out: N rows of D, each
/// `out_stride` floats after the one before.
void sums_of_rows(float* out, int64_t out_stride, int64_t N, const float* weights, const StridedRows& values,
                  int64_t D);

}  // namespace rungs
