#include <omp.h>

#include <algorithm>
#include <cmath>

#include "ops/cpu_ops.hpp"
#include "ops/cpu_parts.hpp"
#include "ops/dot.hpp"
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

/// The sizes of one call.
struct CpuOps::Heads {
  int64_t T, S, H, G, D;
};

// One query. Some keys at a time for all heads, since those of all heads lie side by side: so memory is read in order.
// The heads that share keys and values read them once.
void CpuOps::attend_one(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Heads& sizes) {
  const int64_t S = sizes.S, G = sizes.G, D = sizes.D, H = sizes.H;
  const int64_t group = H / G;  // query heads that share keys and values
  const int64_t at_a_time = 64;
  if (scores_.size() < size_t(H * S)) scores_.resize(size_t(H * S));
  const float scale = 1.0f / std::sqrt(float(D));
  in_parts(G, 1, k.bytes() + v.bytes() > bytes_worth_threads, [&](int64_t first, int64_t last) {
    for (int64_t s = 0; s < S; s += at_a_time)
      for (int64_t g = first; g < last; ++g) {
        const int64_t n = std::min(at_a_time, S - s);
        dots_with_rows({scores_.data() + g * group * S + s, group, S}, {q.data() + g * group * D, group, D},
                       {k.data() + (s * G + g) * D, n, G * D}, D);
      }
    for (int64_t h = first * group; h < last * group; ++h) {
      Eigen::Map<Matrix> row(scores_.data() + h * S, 1, S);
      row *= scale;
      softmax_of_visible(row, S);
    }
    std::fill(out.data() + first * group * D, out.data() + last * group * D, 0.0f);
    for (int64_t s = 0; s < S; s += at_a_time)
      for (int64_t g = first; g < last; ++g) {
        const int64_t n = std::min(at_a_time, S - s);
        add_sums_of_rows({out.data() + g * group * D, group, D}, {scores_.data() + g * group * S + s, group, S},
                         {v.data() + (s * G + g) * D, n, G * D}, D);
      }
  });
}

/// Every G-th row of D: one head of (S, G, D).
using HeadOf = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

// Some queries of one head at a time, so that their scores stay in the processor's cache, and each thread takes the
// next of them.
void CpuOps::attend_many(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Heads& sizes) {
  const int64_t T = sizes.T, S = sizes.S, G = sizes.G, D = sizes.D, H = sizes.H;
  constexpr int64_t enough = 1 << 15;  // floats, 128 KiB
  const int64_t at_a_time = std::clamp<int64_t>(enough / S, 1, T), scratch = std::max(enough, S);
  const bool threads = double(T) * double(S) * double(H * D) > product_worth_threads;
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
    scores.noalias() = (queries * scale) * keys.transpose();
    softmax_of_visible(scores, seen - n + 1);
    read.noalias() = scores * values;
  });
}

void CpuOps::attend(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const bool heads = q.shape().rank() == 3;
  const Heads sizes{q.dim(0), k.dim(0), heads ? q.dim(1) : 1, k.shape().rank() == 3 ? k.dim(1) : 1, q.cols()};
  require(out.shape() == q.shape() && k.shape() == v.shape() && k.cols() == sizes.D && sizes.T <= sizes.S &&
              sizes.G > 0 && sizes.H % sizes.G == 0,
          "attend(out, q, k, v)", out, q, k, v);
  if (sizes.T == 1)
    attend_one(out, q, k, v, sizes);
  else if (sizes.T > 1)
    attend_many(out, q, k, v, sizes);
}

}  // namespace rungs
