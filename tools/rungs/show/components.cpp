// Principal component analysis: the only file here that includes Eigen, which takes seconds to compile.
#include <Eigen/Eigenvalues>

#include "show.hpp"

namespace rungs {

Tensor principal_components(const Tensor& rows) {
  const int64_t N = rows.dim(0), C = rows.dim(1);
  Eigen::MatrixXd x(N, C);  // (N, C)
  for (int64_t n = 0; n < N; ++n)
    for (int64_t c = 0; c < C; ++c) x(n, c) = rows(n, c);
  x.rowwise() -= x.colwise().mean().eval();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(x.transpose() * x);  // smallest variance first
  Tensor out({N, 2});
  for (int64_t d = 0; d < 2; ++d) {
    Eigen::VectorXd direction = solved.eigenvectors().col(C - 1 - d);
    Eigen::Index largest;
    direction.cwiseAbs().maxCoeff(&largest);
    if (direction(largest) < 0) direction = -direction;  // of the two signs, the same one everywhere
    const Eigen::VectorXd along = x * direction;
    for (int64_t n = 0; n < N; ++n) out(n, d) = float(along(n));
  }
  return out;
}

}  // namespace rungs
