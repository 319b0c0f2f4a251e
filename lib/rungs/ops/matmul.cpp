#include "rungs/ops/matmul.hpp"

#include "rungs/ops/cpu_parts.hpp"
#include "rungs/ops/matrix.hpp"

namespace rungs {

/// Says how many threads Eigen may take for its next product; by itself it takes them all for next to nothing.
static void plan_product(int64_t rows, int64_t inner, int64_t columns) {
  const bool threads = worth_threads_in_product(rows, inner, columns);
  Eigen::setNbThreads(threads ? 0 : 1);  // 0: as many as OpenMP has
}

void matmul(Tensor& out, const Tensor& a, const Tensor& b) {
  require(Place::host, a.cols() == b.rows() && out.rows() == a.rows() && out.cols() == b.cols(), "matmul(out, a, b)",
          out, a, b);
  plan_product(a.rows(), a.cols(), b.cols());
  matrix(out).noalias() = matrix(a) * matrix(b);
}

void matmul_transposed(Tensor& out, const Tensor& a, const Tensor& b) {
  require(Place::host, a.cols() == b.cols() && out.rows() == a.rows() && out.cols() == b.rows(),
          "matmul_transposed(out, a, b)", out, a, b);
  plan_product(a.rows(), a.cols(), b.rows());
  matrix(out).noalias() = matrix(a) * matrix(b).transpose();
}

}  // namespace rungs
