/// Products with many rows of x, a long prompt: bound by what the processor computes. The weight is copied, a piece at
/// a time, into the order in which the kernel reads it, and each piece then serves all rows of x from the caches. Goto,
/// van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication".
#pragma once

#include <cstdint>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Columns [first, last) of out = x · weightᵀ, on the calling thread.  out: (N, K) f32; x: (N, C), packed; weight: (K,
/// C) f32, bf16 or f16. The sums are f32; an element is the same to the last bit whatever N, the columns and the
/// threads are. Shapes are the caller's to check.
void packed_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

/// The number of columns of x that is packed at a time.
int64_t packed_columns();

/// Columns [first, last) of x as packed_product reads them; first is a multiple of packed_columns().  out, x: (N, C)
/// f32
void pack_columns(Tensor& out, const Tensor& x, int64_t first, int64_t last);

}  // namespace rungs
