/// How long the kernels of a case take on a GPU, for `rungs profile --on gpu`.
#pragma once

#include <string>

#include "kernel_case.hpp"

namespace rungs {

/// Runs the case again and again, each kernel between two events on its stream, and writes to `file`, as JSON: the name
/// of the device; how many kernels were launched; the median over the runs of their time together, in seconds; and
/// how fast this device copies its own memory, in bytes read and written a second, measured in between. Launches
/// that are recorded into a graph are not timed. \throws CudaError
void write_times(const std::string& file, const CaseInput& in, RunCase run);

}  // namespace rungs
