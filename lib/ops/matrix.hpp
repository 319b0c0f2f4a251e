/// Tensors as Eigen matrices. For .cpp files of the library alone: Eigen takes seconds to compile.
#pragma once

#include <Eigen/Core>

#include "tensor/tensor.hpp"

namespace rungs {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowVector = Eigen::RowVectorXf;

inline Eigen::Map<Matrix> matrix(Tensor& t) { return {t.data(), t.rows(), t.cols()}; }
inline Eigen::Map<const Matrix> matrix(const Tensor& t) { return {t.data(), t.rows(), t.cols()}; }
inline Eigen::Map<const RowVector> row_vector(const Tensor& t) { return {t.data(), t.count()}; }

}  // namespace rungs
