/// What every kernel file includes: CUDA and a few words of ours. nvcc finds its own cuda_runtime.h; the host compiler
/// finds that of kernels/emulator, and the same file runs on the CPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace rungs {

/// How a kernel is launched.
struct LaunchShape {
  dim3 grid, block;
  size_t shared_bytes = 0;        ///< of dynamic shared memory; above 48 KB it is asked for
  cudaStream_t stream = nullptr;  ///< the launch does not wait for the kernel
  bool overlap = false;           ///< may begin before the kernels before it end: overlap.cuh says what it then must do
};

/// How many pieces of size `size` cover n.
template <class T, class U>
__host__ __device__ constexpr T ceil_div(T n, U size) {
  return T((n + T(size) - 1) / T(size));
}

/// \throws CudaError with the call's words and the runtime's, when `result` is not cudaSuccess.
void check_cuda(cudaError_t result, const char* call, const char* file, int line);

/// Of the current device. \throws CudaError
int attribute_of_device(cudaDeviceAttr attribute);

/// Asks a GPU for dynamic shared memory beyond the 48 KB that a kernel may have unasked. \throws CudaError
void allow_shared(const void* kernel, const LaunchShape& shape);

/// Whether LaunchShape::overlap has an effect: for a kernel that was compiled for compute capability 9.0 or newer, on
/// such a GPU, with a CUDA that can capture it (12.3), and not where the environment variable RUNGS_OVERLAP is 0.
/// Otherwise such a launch is an ordinary one.
bool may_overlap(const void* kernel);

/// \throws CudaError naming the kernel, its shape and the limit that it broke, when `result` is not cudaSuccess.
void check_launch(cudaError_t result, const void* kernel, const LaunchShape& shape);

#if defined(__CUDACC__) || defined(RUNGS_CUDA_ON_CPU)

/// Launches a kernel: `launch(add_kernel, {ceil_div(n, 256), 256, 0, stream}, out, x, n)`. \throws CudaError naming the
/// kernel, its shape and the limit that it broke. A fault inside the kernel shows here on the CPU, and at the next
/// synchronization on a GPU.
template <class... P, class... A>
void launch(void (*kernel)(P...), const LaunchShape& shape, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "a launch gives one argument for each parameter of the kernel");
  const void* address = reinterpret_cast<const void*>(kernel);
#ifdef __CUDACC__
  if (shape.shared_bytes > 48 * 1024) allow_shared(address, shape);
  if (shape.overlap && may_overlap(address)) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {shape.grid, shape.block, shape.shared_bytes, shape.stream, &attribute, 1};
    static_cast<void>(cudaLaunchKernelEx(&config, kernel, static_cast<P>(std::forward<A>(arguments))...));
  } else {
    kernel<<<shape.grid, shape.block, shape.shared_bytes, shape.stream>>>(
        static_cast<P>(std::forward<A>(arguments))...);
  }
  check_launch(cudaGetLastError(), address, shape);
#else
  using Call = emulator::Call<P...>;
  const Call call{kernel, {static_cast<P>(std::forward<A>(arguments))...}};
  emulator::launch({address, shape.grid, shape.block, shape.shared_bytes, shape.stream, shape.overlap, &call,
                    sizeof call, Call::run, Call::copy});
#endif
}

#endif

}  // namespace rungs

/// Checks a call of the CUDA runtime: `CUDA_CHECK(cudaFree(p));`
#define CUDA_CHECK(call) ::rungs::check_cuda((call), #call, __FILE__, __LINE__)

/// The block's dynamic shared memory, as large as the launch said, as an array: `DYNAMIC_SHARED(float, tile);`
#ifdef RUNGS_CUDA_ON_CPU
#define DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::rungs::emulator::dynamic_shared())
#else
#define DYNAMIC_SHARED(T, name)                                          \
  extern __shared__ __align__(128) unsigned char rungs_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(rungs_dynamic_shared)
#endif
