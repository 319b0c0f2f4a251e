#include "rungs/measure/bandwidth.hpp"

#include <omp.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "rungs/measure/measure.hpp"

namespace rungs {

namespace {

/// Four words at a time, in whatever vectors the processor has.
using Words [[gnu::vector_size(32)]] = uint64_t;

/// By reference: how a vector is handed over by value depends on what the processor has.
void add(Words& sum, const uint64_t* from) {
  Words words;
  std::memcpy(&words, from, sizeof words);
  sum += words;
}

}  // namespace

double bandwidth(int threads) {
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
        for (const uint64_t* from : {a, b, c, d}) {
          add(sum, from + i);
          add(other, from + i + 4);
        }
      }
      sum += other;
      total += sum[0] + sum[1] + sum[2] + sum[3];
    }
    best = std::max(best, double(total) * 8 / (now() - start));  // every word is 1
  }
  return best;
}

}  // namespace rungs
