// The program that runs the kernels' tests on a GPU ends here where there is none.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

/// Looks before main does.
const struct NeedsGpu {
  NeedsGpu() {
    int count = 0;
    const cudaError_t found = cudaGetDeviceCount(&count);
    if (found == cudaSuccess && count > 0) return;
    std::printf("SKIPPED: no GPU: %s\n", found == cudaSuccess ? "none is installed" : cudaGetErrorString(found));
    std::exit(77);
  }
} needs_gpu;

}  // namespace
