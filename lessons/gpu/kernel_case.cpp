// How a case runs on what nvcc compiled, on a GPU or on the executor of its PTX: once, in the order that is theirs.
#include "kernel_case.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "kernel_times.hpp"

namespace rungs {

// A runner on the executor of PTX has no times.
[[gnu::weak]] void write_times(const std::string& file, const CaseInput& in, RunCase run);

void run_kernels(const CaseInput& in, Recording& out, RunCase run) {
  if (const char* file = std::getenv("RUNGS_TIMES"); file && write_times) return write_times(file, in, run);
  run(in, out);
}

size_t allocated_device_bytes() {
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  return total - free;
}

}  // namespace rungs
