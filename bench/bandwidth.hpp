/// What memory gives right now: the yardstick of everything that is bound by reading.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "measure/measure.hpp"
#include "tensor/error.hpp"

namespace rungs {

/// Four words at a time, in whatever vectors the processor has.
using Words [[gnu::vector_size(32)]] = uint64_t;
inline Words words(const uint64_t* from) {
  Words out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

/// Bytes per second at which `threads` together read memory that is in no cache: the best of three passes over 256 MiB.
/// Each reads four streams at a time, in vectors: one stream, or a word at a time, keeps too few reads under way.
inline double bandwidth(int threads) {
  static const std::vector<uint64_t> memory(size_t(32) << 20, 1);
  double best = 0;
  for (int pass = 0; pass < 3; ++pass) {
    uint64_t total = 0;
    const double start = now();
#pragma omp parallel num_threads(threads) reduction(+ : total)
    {
      const size_t quarter = memory.size() / 4 / size_t(omp_get_num_threads());
      const uint64_t* a = memory.data() + 4 * quarter * size_t(omp_get_thread_num());
      const uint64_t *b = a + quarter, *c = b + quarter, *d = c + quarter;
      Words sum{}, other{};
      for (size_t i = 0; i < quarter; i += 8) {  // a line of the cache of each
        sum += words(a + i) + words(b + i) + words(c + i) + words(d + i);
        other += words(a + i + 4) + words(b + i + 4) + words(c + i + 4) + words(d + i + 4);
      }
      sum += other;
      total += sum[0] + sum[1] + sum[2] + sum[3];
    }
    best = std::max(best, double(total) * 8 / (now() - start));  // every word is 1
  }
  return best;
}

/// Two measurements of the same memory are close enough for what stands between them to count.
inline bool agree(double before, double after) { return std::abs(before - after) < 0.05 * std::max(before, after); }

}  // namespace rungs
