/// Weights in 16 bits read as f32.
#pragma once

#include <fmt/format.h>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// \name One element as f32, exact
///@{
inline float value_of(float x) { return x; }           ///< itself
inline float value_of(bf16 x) { return to_float(x); }  ///< the upper half of an f32
inline float value_of(f16 x) { return to_float(x); }   ///< an IEEE half
///@}

/// work(pointer to the elements) for a tensor of f32, bf16 or f16. \throws ShapeError for another dtype.
template <class Work>
void with_floats(const Tensor& x, const Work& work) {
  switch (x.dtype()) {
    case DType::f32:
      return work(x.data());
    case DType::bf16:
      return work(x.data<bf16>());
    case DType::f16:
      return work(x.data<f16>());
    default:
      throw ShapeError(fmt::format("wanted weights in f32, bf16 or f16, found {}{}", name_of(x.dtype()),
                                   is_quantized(x.dtype()) ? ", which the CPU alone computes with" : ""));
  }
}

}  // namespace rungs
