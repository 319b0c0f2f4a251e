/// Matrix products for the lessons: Eigen behind a function, compiled once, so that a learner's file compiles in a
/// moment.
#pragma once

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// out (M, N) = a (M, K) · b (K, N). \throws ShapeError
void matmul(Tensor& out, const Tensor& a, const Tensor& b);

/// out (M, N) = a (M, K) · bᵀ, b: (N, K). \throws ShapeError
void matmul_transposed(Tensor& out, const Tensor& a, const Tensor& b);

}  // namespace rungs
