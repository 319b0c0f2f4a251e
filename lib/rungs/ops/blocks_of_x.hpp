/// x as the products with quantized weights read it (quantize_rows() in ops/quantized_product.hpp).
#pragma once

#include <bit>
#include <cstdint>

#include "rungs/tensor/dtype.hpp"

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

}  // namespace rungs
