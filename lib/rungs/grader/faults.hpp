/// What goes wrong in a file of kernels, as kernels/emulator reports it: a call of the runtime that fails, and faults
/// inside a kernel: a race, a bound, a barrier that not all threads reach. The grader knows them by their sentences,
/// which name the line; those of a fault also name the kernel, the block and the thread.
#pragma once

#include <string>

namespace rungs {

/// Whether what a run threw is a fault inside a kernel.
bool is_kernel_fault(const std::string& says);

/// Whether both name a line of a .cu file, and say the same but for file names, numbers and namespaces: the same kind
/// of fault, of the same array, in the same kernel; the same call that failed. Without a line they must say the same
/// but for namespaces.
bool alike_faults(const std::string& a, const std::string& b);

}  // namespace rungs
