/// x as the products with quantized weights read it.
#pragma once

#include <bit>
#include <cstdint>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// 32 elements of a row of x: whole numbers times a scale.
struct BlockOfX {
  float scale;
  float scaled_sum;  ///< of all whole numbers, times the scale: what a min of q4_k is multiplied by
  int16_t sum[2];    ///< of the first 16 whole numbers and of the others; 0 beside a scale that is NaN
  int8_t q[block_elements];
  int32_t both_sums() const { return std::bit_cast<int32_t>(sum); }  ///< as they lie there
};

/// Rows of x.
struct RowsOfX {
  const float* data;
  int64_t stride;  ///< in floats
  const BlockOfX& block(int64_t row, int64_t b) const {
    return reinterpret_cast<const BlockOfX*>(data + row * stride)[b];
  }
};

/// Floats that a quantized row of C takes.
inline int64_t quantized_floats(int64_t C) { return C / block_elements * int64_t(sizeof(BlockOfX) / sizeof(float)); }

/// Rows [first, last) of x, each block of 32 as whole numbers x / scale, scale = max |x| / 127. A block with a NaN or
/// an infinity has the scale NaN.  out: (N, quantized_floats); x: (N, C).
void quantize_rows(Tensor& out, const Tensor& x, int64_t first, int64_t last);

/// out = n elements of a row, quantized; n is a multiple of block_elements.
void quantize_elements(float* out, const float* x, int64_t n);

}  // namespace rungs
