/// Products with quantized weights, in whole numbers: x is quantized on the fly, in blocks like those of the weight.
#pragma once

#include <cstdint>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Floats that a quantized row of C takes: its whole numbers in 8 bits each, and for each block their scale and sums.
inline int64_t quantized_floats(int64_t C) { return C / block_elements * (block_elements / 4 + 3); }

/// Rows [first, last) of x, each block of 32 as whole numbers x / scale, scale = max |x| / 127. A block with a NaN or
/// an infinity has the scale NaN.  out: (N, quantized_floats); x: (N, C).
void quantize_rows(Tensor& out, const Tensor& x, int64_t first, int64_t last);

/// out = n elements of a row, quantized; n is a multiple of block_elements.
void quantize_elements(float* out, const float* x, int64_t n);

/// Columns [first, last) of out = x · weightᵀ, on the calling thread.  out: (N, K) f32; x: (N, quantized_floats of C)
/// from quantize_rows; weight: (K, C) quantized. The sum of a block, of a group where it has a scale of its own, is
/// exact; where bytes are multiplied in pairs (AVX2 without AVX-VNNI), so is that of the two groups of q6_k in a block
/// of x, each times its scale. An element adds these sums, each times both scales, from the first to the last in f32,
/// whatever N and the columns are.
void quantized_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

}  // namespace rungs
