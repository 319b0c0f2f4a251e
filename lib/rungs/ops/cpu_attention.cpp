#include <omp.h>

#include <algorithm>
#include <cmath>

#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/cpu_parts.hpp"
#include "rungs/ops/dot.hpp"
#include "rungs/ops/matrix.hpp"

namespace rungs {

static float scale_of(const AttentionOptions& options, int64_t D) {
  return options.scale > 0 ? options.scale : 1.0f / std::sqrt(float(D));
}

/// The first key that the query at position p sees.
static int64_t first_visible(const AttentionOptions& options, int64_t p) {
  return options.window > 0 ? std::max<int64_t>(0, p + 1 - options.window) : 0;
}

/// scores = c · tanh(scores / c).
template <class Scores>
static void soft_cap(Scores&& scores, float c) {
  if (c > 0) scores = c * (scores / c).tanh();
}

/// Rows of queries at positions p, p + 1, ...: softmax over the keys that each sees, 0 elsewhere.
static void softmax_of_visible(Eigen::Map<Matrix>& scores, int64_t p, const AttentionOptions& options) {
  for (int64_t i = 0; i < scores.rows(); ++i, ++p) {
    const int64_t begin = first_visible(options, p), end = options.causal ? p + 1 : scores.cols();
    auto row = scores.row(i).segment(begin, end - begin);
    const float largest = row.maxCoeff();
    row = (row.array() - largest).exp().matrix();
    row /= row.sum();
    scores.row(i).head(begin).setZero();
    scores.row(i).tail(scores.cols() - end).setZero();
  }
}

// Room for one query of the fullest cache, so that no token on the way there allocates.
void CpuOps::attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                       LayerCache* cache, const AttentionOptions& options) {
  const int64_t H = q.shape().rank() == 3 ? q.dim(1) : 1;
  if (cache) need_scores(chunks_of_keys(cache->k.dim(1)) * H * room_of_chunk(q.cols()));
  attention_by_segment(*this, out, q, k, v, rows, cache, options);
}

void CpuOps::need_scores(int64_t floats) {
  if (scores_.count() < floats) scores_ = Tensor::uninitialised({floats});
}

// One query: keys and values are read once, in the order in which they lie in memory, some at a time for all heads.
// Each such chunk has a softmax of its own, with its largest score, its sum and its part of the result; in the end they
// are put together as if there had been one. (Milakov, Gimelshein 2018, "Online normalizer calculation for softmax".)
// The chunks are the same on every number of threads, so the result is.
void CpuOps::sdpa_one(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const SdpaSizes& sizes,
                      const AttentionOptions& options) {
  const int64_t S = sizes.S, G = sizes.G, D = sizes.D, H = sizes.H;
  const int64_t group = H / G;  // query heads that share keys and values
  const int64_t chunks = chunks_of_keys(S), room = room_of_chunk(D);
  need_scores(chunks * H * room);
  const float scale = scale_of(options, D);
  const auto part = [&](int64_t chunk, int64_t h) { return scores_.data() + (chunk * H + h) * room; };

  in_parts(chunks, 1, k.bytes() + v.bytes() > bytes_worth_threads, [&](int64_t first, int64_t last) {
    for (int64_t chunk = first; chunk < last; ++chunk)
      for (int64_t g = 0; g < G; ++g) {
        const int64_t s = chunk * keys_at_a_time, n = std::min(keys_at_a_time, S - s);
        float *mine = part(chunk, g * group), *weights = mine + D + 2;
        dots_with_rows({weights, group, room}, {q.data() + g * group * D, group, D},
                       {k.data() + (s * G + g) * D, n, G * D}, D);
        for (int64_t h = 0; h < group; ++h) {
          Eigen::Map<Eigen::ArrayXf> row(weights + h * room, n);
          float *largest = mine + h * room + D, *sum = largest + 1;
          row *= scale;
          soft_cap(row, options.soft_cap);
          *largest = row.maxCoeff();
          row = (row - *largest).exp();
          *sum = row.sum();
          std::fill_n(mine + h * room, D, 0.0f);
        }
        add_sums_of_rows({mine, group, room}, {weights, group, room}, {v.data() + (s * G + g) * D, n, G * D}, D);
      }
  });

  for (int64_t h = 0; h < H; ++h) {
    float largest = part(0, h)[D], sum = 0;
    for (int64_t chunk = 1; chunk < chunks; ++chunk) largest = std::max(largest, part(chunk, h)[D]);
    Eigen::Map<RowVector> result(out.data() + h * D, D);
    result.setZero();
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const float weight = std::exp(part(chunk, h)[D] - largest);
      result += weight * Eigen::Map<const RowVector>(part(chunk, h), D);
      sum += weight * part(chunk, h)[D + 1];
    }
    result /= sum;
  }
}

/// Every G-th row of D: one head of (S, G, D).
using HeadOf = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

// Some queries of one head at a time, so that their scores stay in the processor's cache, and each thread takes the
// next of them.
void CpuOps::sdpa_many(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const SdpaSizes& sizes,
                       const AttentionOptions& options) {
  const int64_t T = sizes.T, S = sizes.S, G = sizes.G, D = sizes.D, H = sizes.H;
  const int64_t at_a_time = std::clamp<int64_t>(scores_in_cache / S, 1, T), scratch = room_of_scores(S);
  const bool threads = worth_threads_in_attention(T, S, H * D);
  need_scores(scratch * (threads ? omp_get_max_threads() : 1));
  const float scale = scale_of(options, D);
  Eigen::setNbThreads(1);

  const int64_t blocks = (T + at_a_time - 1) / at_a_time;
  each(blocks * H, threads, [&](int64_t work) {
    const int64_t first = work / H * at_a_time, h = work % H, g = h / (H / G), n = std::min(at_a_time, T - first);
    const int64_t seen = options.causal ? S - T + first + n : S;  // keys that the last of these queries sees
    const HeadOf queries(q.data() + (first * H + h) * D, n, D, Eigen::OuterStride<>(H * D));
    const HeadOf keys(k.data() + g * D, seen, D, Eigen::OuterStride<>(G * D));
    const HeadOf values(v.data() + g * D, seen, D, Eigen::OuterStride<>(G * D));
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>> read(out.data() + (first * H + h) * D, n, D,
                                                     Eigen::OuterStride<>(H * D));
    float* own = scores_.data() + (threads ? omp_get_thread_num() * scratch : 0);
    Eigen::Map<Matrix> scores(own, n, seen);  // (n, seen)
    scores.noalias() = (queries * scale) * keys.transpose();
    soft_cap(scores.array(), options.soft_cap);
    softmax_of_visible(scores, S - T + first, options);
    read.noalias() = scores * values;
  });
}

void CpuOps::sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  SdpaSizes sizes = require_sdpa(Place::host, out, q, k, v);
  if (sizes.T > 1) return sdpa_many(out, q, k, v, sizes, options);
  if (sizes.T == 0) return;
  const int64_t first = first_visible(options, sizes.S - 1);
  sizes.S -= first;
  sdpa_one(out, q, k.view_rows(first, sizes.S), v.view_rows(first, sizes.S), sizes, options);
}

}  // namespace rungs
