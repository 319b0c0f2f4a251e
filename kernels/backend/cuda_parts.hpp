/// What the files of CudaOps share.
#pragma once

#include <initializer_list>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// A weight is read once for so many rows by the kernels of gemv; beyond, the tiles of matmul pay.
inline constexpr int gemv_max_rows = 8;

/// The weights as one, or an empty tensor where they do not lie one behind the other.
inline Tensor joined(std::initializer_list<const Tensor*> weights) {
  const Tensor& first = **weights.begin();
  int64_t rows = 0;
  for (const Tensor* w : weights) {
    const size_t before = size_t(rows * first.cols()) * bytes_of(first.dtype());
    if (w->raw() != static_cast<const char*>(first.raw()) + before || w->dtype() != first.dtype() ||
        w->cols() != first.cols())
      return {};
    rows += w->rows();
  }
  return Tensor::view_of(first.raw(), {rows, first.cols()}, first.dtype());
}

}  // namespace rungs
