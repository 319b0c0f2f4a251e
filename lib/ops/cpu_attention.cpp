#include <omp.h>

#include <algorithm>
#include <cmath>

#include "ops/cpu_ops.hpp"
#include "ops/cpu_parts.hpp"
#include "ops/matrix.hpp"

namespace rungs {

/// Each row of scores, of which the first sees `visible` keys and each next one more: softmax over those, 0 beyond.
static void softmax_of_visible(Eigen::Map<Matrix>& scores, int64_t visible) {
  for (int64_t i = 0; i < scores.rows(); ++i, ++visible) {
    auto row = scores.row(i).head(visible);
    const float largest = row.maxCoeff();
    row = (row.array() - largest).exp().matrix();
    row /= row.sum();
    scores.row(i).tail(scores.cols() - visible).setZero();
  }
}

/// Every G-th row of D: one head of (S, G, D).
using HeadOf = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

// Some queries of one head at a time, so that their scores stay in the processor's cache, and each thread takes the
// next of them.
void CpuOps::attend(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t T = q.dim(0), S = k.dim(0), D = q.cols();
  const int64_t H = q.shape().rank() == 3 ? q.dim(1) : 1, G = k.shape().rank() == 3 ? k.dim(1) : 1;
  require(out.shape() == q.shape() && k.shape() == v.shape() && k.cols() == D && T <= S && G > 0 && H % G == 0,
          "attend(out, q, k, v)", out, q, k, v);
  if (T == 0) return;
  constexpr int64_t enough = 1 << 15;  // floats, 128 KiB
  const int64_t at_a_time = std::clamp<int64_t>(enough / S, 1, T), scratch = std::max(enough, S);
  const bool threads = double(T) * double(S) * double(H * D) > product_worth_threads ||
                       (T == 1 && k.bytes() + v.bytes() > bytes_worth_threads);
  const size_t wanted = size_t(scratch) * size_t(threads ? omp_get_max_threads() : 1);
  if (scores_.size() < wanted) scores_.resize(wanted);
  const float scale = 1.0f / std::sqrt(float(D));
  Eigen::setNbThreads(1);

  const int64_t blocks = (T + at_a_time - 1) / at_a_time;
  each(blocks * H, threads, [&](int64_t work) {
    const int64_t first = work / H * at_a_time, h = work % H, g = h / (H / G), n = std::min(at_a_time, T - first);
    const int64_t seen = S - T + first + n;  // keys that the last of these queries sees
    const HeadOf queries(q.data() + (first * H + h) * D, n, D, Eigen::OuterStride<>(H * D));
    const HeadOf keys(k.data() + g * D, seen, D, Eigen::OuterStride<>(G * D));
    const HeadOf values(v.data() + g * D, seen, D, Eigen::OuterStride<>(G * D));
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>> read(out.data() + (first * H + h) * D, n, D,
                                                     Eigen::OuterStride<>(H * D));
    float* own = scores_.data() + (threads ? omp_get_thread_num() * scratch : 0);
    Eigen::Map<Matrix> scores(own, n, seen);  // (n, seen)
    if (n == 1)
      scores.row(0).transpose().noalias() = keys * (queries.row(0) * scale).transpose();
    else
      scores.noalias() = (queries * scale) * keys.transpose();
    softmax_of_visible(scores, seen - n + 1);
    if (n == 1)
      read.row(0).noalias() = scores.row(0) * values;
    else
      read.noalias() = scores * values;
  });
}

}  // namespace rungs
