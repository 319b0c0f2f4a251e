/// Tensors as Eigen matrices. For .cpp files of the library alone: Eigen takes seconds to compile.
#pragma once

// g++ 12 takes the empty vectors of its own AVX-512 header for forgotten ones (GCC bug 105593).
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include <Eigen/Core>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Row-major, like every tensor.
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A bias, or one row.
using RowVector = Eigen::RowVectorXf;

/// The tensor seen as rows() by cols().
inline Eigen::Map<Matrix> matrix(Tensor& t) { return {t.data(), t.rows(), t.cols()}; }
/// The tensor seen as rows() by cols().
inline Eigen::Map<const Matrix> matrix(const Tensor& t) { return {t.data(), t.rows(), t.cols()}; }
/// All elements in a row.
inline Eigen::Map<const RowVector> row_vector(const Tensor& t) { return {t.data(), t.count()}; }

}  // namespace rungs
