/// What every kernel file includes: CUDA and a few words of ours. nvcc finds its own cuda_runtime.h; the host compiler
/// finds that of kernels/host, and the same file runs on the CPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tensor/error.hpp"

namespace rungs {

/// A call of the CUDA runtime, a launch or a kernel failed.
struct CudaError : Error {
  using Error::Error;
};

/// How a kernel is launched.
struct LaunchShape {
  dim3 grid, block;
  size_t shared_bytes = 0;        ///< of dynamic shared memory; above 48 KB it is asked for
  cudaStream_t stream = nullptr;  ///< the launch does not wait for the kernel
};

/// Launches a kernel: `launch(add_kernel, {ceil_div(n, 256), 256, 0, stream}, out, x, n)`. \throws CudaError naming the
/// kernel, its shape and the limit that it broke. A fault inside the kernel shows here on the CPU, and at the next
/// synchronization on a GPU.
template <class... P, class... A>
void launch(void (*kernel)(P...), const LaunchShape& shape, A&&... arguments);

/// How many pieces of size `size` cover n.
template <class T, class U>
constexpr T ceil_div(T n, U size) {
  return T((n + T(size) - 1) / T(size));
}

/// \throws CudaError with the call's words and the runtime's, when `result` is not cudaSuccess.
void check_cuda(cudaError_t result, const char* call, const char* file, int line);

}  // namespace rungs

#define CUDA_CHECK(call) ::rungs::check_cuda((call), #call, __FILE__, __LINE__)
