// How a case runs on what nvcc compiled, on a GPU or on the executor of its PTX: once, in the order that is theirs.
#include "kernel_case.hpp"

#include <cuda_runtime_api.h>

namespace rungs {

void run_kernels(const CaseInput& in, Recording& out, RunCase run) { run(in, out); }

size_t allocated_device_bytes() {
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  return total - free;
}

}  // namespace rungs
