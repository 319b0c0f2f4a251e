/// Arithmetic on sizes that come from outside: what does not fit is an error, not another number.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "rungs/base/error.hpp"

namespace rungs {

/// The product of sizes. \throws UsageError where it does not fit in 63 bits.
inline int64_t product(std::initializer_list<int64_t> sizes) {
  int64_t all = 1;
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(all, size, &all)) throw UsageError("these sizes make a count of more than 63 bits");
  return all;
}

/// The sum of counts. \throws UsageError where it does not fit in 63 bits.
inline int64_t sum(std::initializer_list<int64_t> counts) {
  int64_t all = 0;
  for (const int64_t count : counts)
    if (__builtin_add_overflow(all, count, &all)) throw UsageError("these sizes make a count of more than 63 bits");
  return all;
}

}  // namespace rungs
