/// How a case runs in a lesson about CUDA: what its runner processes add to a lesson's own `run`.
#pragma once

#include "rungs/grader/implementation.hpp"

namespace rungs {

/// A lesson's way to run one case on one implementation.
using RunCase = void (*)(const CaseInput& in, Recording& out);

/// Runs a case with its threads one after the other, then once more in a random order, which must give the same to the
/// last bit, and launch a kernel each time. Where the environment names an order, RUNGS_THREAD_ORDER, it runs in that
/// one alone, as a debugger wants. Where accesses are counted (RUNGS_COUNT=1) it runs once, and writes the counts of
/// each line to the file that RUNGS_COUNTS names, as JSON.  \throws Error when the two orders differ, with the first
/// element that does
void run_kernels(const CaseInput& in, Recording& out, RunCase run);

/// Bytes of device memory that are allocated now.
size_t allocated_device_bytes();

}  // namespace rungs
