/// What the files of CpuOps share: when threads pay.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "ops/require.hpp"

namespace rungs {

/// \name When several threads are worth it
/// Where other programs keep the processors busy, threads that share a piece of work wait milliseconds for each other,
/// so what takes little time stays on one.
///@{
inline constexpr int64_t worth_threads = 1 << 20;         ///< elements of a loop
inline constexpr double product_worth_threads = 1 << 25;  ///< multiplications of a product
inline constexpr size_t bytes_worth_threads = 1 << 20;    ///< bytes of a weight: 30 microseconds of reading
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

/// work(first, last) for one part of [0, n) on each thread; parts begin at multiples of `grain`.
template <class Work>
void in_parts(int64_t n, int64_t grain, bool threads, const Work& work) {
  const int64_t grains = (n + grain - 1) / grain;
  if (!threads || grains < 2) {
    work(int64_t(0), n);
    return;
  }
#pragma omp parallel
  {
    const int64_t T = omp_get_num_threads(), t = omp_get_thread_num();
    const int64_t first = grains * t / T * grain, last = std::min(n, grains * (t + 1) / T * grain);
    if (first < last) work(first, last);
  }
}

}  // namespace rungs
