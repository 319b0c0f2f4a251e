/// Counts what a program takes from the heap. Link rungs_allocations into programs that ask; it stands in for malloc.
#pragma once

#include <cstdint>

namespace rungs {

/// Calls of malloc and its relatives so far, by every thread; operator new and Eigen among the callers.
int64_t allocations();

}  // namespace rungs
