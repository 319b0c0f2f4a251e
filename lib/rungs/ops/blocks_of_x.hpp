/// x as the products with quantized weights read it (quantize_rows() in ops/quantized_product.hpp).
#pragma once

#include <cstdint>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// 32 elements of a row of x: whole numbers times a scale.
struct BlockOfX {
  float scale, sum;  ///< the sum of the whole numbers; 0 beside a scale that is NaN
  int8_t q[block_elements];
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
