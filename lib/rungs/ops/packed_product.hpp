/// Products with many rows of x, a long prompt: bound by what the processor computes. The weight is copied, a piece at
/// a time, into the order in which the kernel reads it, and each piece then serves all rows of x from the caches. Goto,
/// van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication".
#pragma once

#include <cstdint>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Columns [first, last) of out = x · weightᵀ, on the calling thread.  out: (N, K) f32; x: (N, floats_of_packed),
/// packed for this dtype; weight: (K, C) f32, bf16 or f16. The sums are f32; an element is the same to the last bit
/// whatever N, the columns and the threads are. Shapes are the caller's to check.
void packed_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

/// The columns of out that are computed at a time.
int64_t packed_columns();

/// Floats of a packed row of C beside a weight of this dtype: C, or half of it where x is rounded to bf16
/// (takes_bf16_dots()).
int64_t floats_of_packed(int64_t C, DType weight);

/// The tiles in which N rows of x are packed.
int64_t packed_tiles(int64_t N);

/// Tiles [first, last) of the rows of x as packed_product reads them.  out: (N, floats_of_packed) f32; x: (N, C) f32
void pack_rows(Tensor& out, const Tensor& x, DType weight, int64_t first, int64_t last);

}  // namespace rungs
