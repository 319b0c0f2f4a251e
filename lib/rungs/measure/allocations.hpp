/// Counts what a program takes from the heap. Link rungs_allocations into programs that ask; it stands in for malloc.
#pragma once

#include <cstdint>

namespace rungs {

/// Calls of malloc and its relatives so far, by every thread; operator new and Eigen among the callers.
int64_t allocations();

/// The n-th allocation of this thread from now on (from 1) fails once, as if there were no more memory; 0: none does.
/// Returns false where nothing can fail, which is so under the address sanitizer.
bool fail_allocation(int64_t n);

}  // namespace rungs
