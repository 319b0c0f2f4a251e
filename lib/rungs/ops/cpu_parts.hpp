/// What the files of CpuOps share: when threads pay, and how much memory they take for themselves.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "rungs/ops/attention_block.hpp"
#include "rungs/ops/require.hpp"

namespace rungs {

/// \name When several threads are worth it
/// Where other programs keep the processors busy, threads that share a piece of work wait milliseconds for each other,
/// so what takes little time stays on one.
///@{
inline constexpr int64_t worth_threads = 1 << 15;         ///< elements of a loop
inline constexpr double product_worth_threads = 1 << 25;  ///< multiplications of a product
inline constexpr double scores_worth_threads = 1 << 20;   ///< multiplications of queries and keys: 80 us of attention
inline constexpr size_t bytes_worth_threads = 3 << 17;    ///< bytes of weights, or keys: 12 us of reading
/// N rows with weights of so many bytes: from four rows on it is no more the reading that takes the time.
inline bool worth_threads_in_linear(int64_t N, size_t bytes) {
  return bytes * size_t(std::max<int64_t>(1, N / 4)) > bytes_worth_threads;
}
/// A product of (N, C) and (C, K).
inline bool worth_threads_in_product(int64_t N, int64_t C, int64_t K) {
  return double(N) * double(C) * double(K) > product_worth_threads;
}
/// T queries over S keys, all heads together `width` wide.
inline bool worth_threads_in_attention(int64_t T, int64_t S, int64_t width) {
  return double(T) * double(S) * double(width) > scores_worth_threads;
}
///@}

/// How a product reads x: in tile registers (ops/tile_product.hpp), a few rows (ops/dot.hpp), or packed
/// (ops/packed_product.hpp).
enum class ProductWay { tiles, few_rows, packed };
/// The fastest way here to the product of x (N, C) with a weight of this dtype.
ProductWay product_way(int64_t N, int64_t C, DType weight);
/// Floats of x (N, C) in the order in which this way reads it beside a weight of this dtype; 0 where that is x itself.
int64_t floats_of_arranged(ProductWay way, int64_t N, int64_t C, DType weight);

/// \name Memory
///@{
inline constexpr int64_t keys_at_a_time = 128;    ///< of one query, with a softmax of their own, or of many
inline constexpr int64_t rows_at_a_time = 64;     ///< of queries, where there are many
inline constexpr int64_t keys_in_cache = 8;       ///< read at a time, of all heads; more where they are narrow:
inline constexpr int64_t floats_in_cache = 4096;  ///< of keys, or values, in the nearest cache
inline constexpr int64_t bytes_ahead = 8192;      ///< of keys and values, asked for before they are read
/// Makes `scratch` a tensor of so many floats, if it has fewer.
inline void need(Tensor& scratch, int64_t floats) {
  if (scratch.count() < floats) scratch = Tensor::uninitialised({floats});
}
/// Of keys_at_a_time each, the last perhaps shorter.
inline int64_t chunks_of_keys(int64_t S) { return (S + keys_at_a_time - 1) / keys_at_a_time; }
/// Floats of each chunk of keys and each head: its part of the result (D), largest score, sum of weights, weights.
inline int64_t room_of_chunk(int64_t D) { return D + 2 + keys_at_a_time; }
/// Floats of each thread for a block of rows: keys or values in panels, scores, queries, what they read, and of each
/// row the largest score and the sum of weights.
inline int64_t room_of_rows(int64_t D) {
  const int64_t width = in_whole_panels(D);
  return width * keys_at_a_time + rows_at_a_time * (keys_at_a_time + D + width + 2);
}
///@}

/// work(i) for each i in [0, n), the last ones first. An OpenMP region allocates even where it runs on one thread, so
/// that is no region.
template <class Work>
void each(int64_t n, bool threads, const Work& work) {
  if (!threads) {
    for (int64_t i = n; i-- > 0;) work(i);
    return;
  }
#pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < n; ++i) work(n - 1 - i);
}

/// Rows of a weight in a small part, at least: four streams of eight.
inline constexpr int64_t least_part = 32;

/// work(first, last) for parts of [0, n) that begin at multiples of `grain`: one on each thread, and an eighth of all
/// in two small ones a thread, for whoever is free first, since memory does not serve all threads alike. Where these
/// would have fewer than `least`, there are none.
template <class Work>
void in_parts(int64_t n, int64_t grain, bool threads, const Work& work, int64_t least = least_part) {
  const int64_t grains = (n + grain - 1) / grain;
  if (!threads || grains < 2) {
    work(int64_t(0), n);
    return;
  }
  const int64_t small_parts = 2 * int64_t(omp_get_max_threads()), wanted = grains / 8 / small_parts;
  const int64_t small = wanted * grain < least ? 0 : wanted, large = grains - small_parts * small;
  std::atomic<int64_t> next = large;
#pragma omp parallel
  {
    const int64_t T = omp_get_num_threads(), t = omp_get_thread_num();
    int64_t first = large * t / T, last = large * (t + 1) / T;
    while (first < last) {
      work(first * grain, std::min(n, last * grain));
      first = next.fetch_add(small, std::memory_order_relaxed);
      last = std::min(grains, first + small);
    }
  }
}

/// work(first, last) for parts of the rows of x, on all threads where x is large.
template <class Work>
void rows_in_parts(const Tensor& x, const Work& work) {
  in_parts(x.rows(), 1, x.count() > worth_threads, work);
}

}  // namespace rungs
