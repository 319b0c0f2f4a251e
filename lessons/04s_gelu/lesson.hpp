/// Lesson 4s: GELU, a ReLU without its corner.
#pragma once

#include "rungs/tensor/tensor.hpp"

/// The stretch of lesson 4, 04s_gelu.
namespace lesson_04s {

using namespace rungs;

/// x = x · Φ(x), element by element, in place, with Φ(x) = (1 + erf(x / √2)) / 2, the probability that a normally
/// distributed number is below x.  x: any shape.
/// Hendrycks and Gimpel 2016, "Gaussian Error Linear Units (GELUs)", section 2.
void gelu(Tensor& x);

/// The approximation of the same paper, which needs no erf: x = x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), in
/// place.  x: any shape.
void gelu_tanh(Tensor& x);

}  // namespace lesson_04s
