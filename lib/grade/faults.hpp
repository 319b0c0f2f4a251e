/// Faults inside kernels, as the engine and the checker of kernels/host report them: a race, a bound, a barrier that
/// not all threads reach. The grader knows them by their sentences, which name the kernel, the block and the thread.
#pragma once

#include <string>

namespace rungs {

/// Whether what a run threw is such a fault.
bool is_kernel_fault(const std::string& says);

/// Two faults are alike when their sentences are, but for file names, numbers and namespaces: the same kind of fault,
/// of the same array, in the same kernel.
bool alike_faults(const std::string& a, const std::string& b);

}  // namespace rungs
