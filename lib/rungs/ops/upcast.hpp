/// Tensors in fewer bits read as f32: rows of a weight, keys and values of a cache.
#pragma once

#include <cstdint>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// out = elements [first, first + n) of x as f32, exact; of a quantized tensor whole blocks. With several `rows`, the
/// next n elements of out begin `stride` elements of x later. \throws ShapeError for integers and f64.
void upcast(float* out, const Tensor& x, int64_t first, int64_t n, int64_t rows = 1, int64_t stride = 0);

}  // namespace rungs
