/// Products with quantized weights, in whole numbers: x is quantized on the fly, in blocks like those of the weight.
#pragma once

#include <cstdint>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Columns [first, last) of out = x · weightᵀ, on the calling thread.  out: (N, K) f32; x: (N, quantized_floats of C)
/// from quantize_rows; weight: (K, C) quantized. The sum of a block, of a group where it has a scale of its own, is
/// exact; where bytes are multiplied in pairs (AVX2 without AVX-VNNI), so is that of the two groups of q6_k in a block
/// of x, each times its scale. An element adds these sums, each times both scales, from the first to the last in f32,
/// whatever N and the columns are.
void quantized_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

}  // namespace rungs
