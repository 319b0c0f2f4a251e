/// Programmatic dependent launch: a kernel that was launched with LaunchShape::overlap may begin while the kernels
/// before it in the stream still run. Until it has waited for them it may read only what none of them writes, such as
/// weights, and may write nothing but its own shared memory. Every thread waits. In an ordinary launch, and on a GPU
/// older than compute capability 9.0, both functions do nothing.
#pragma once

#include <cuda_runtime.h>

namespace rungs {

/// The next kernel of the stream may begin once every block of this one has come here or has ended. It promises
/// nothing about memory: that kernel, too, waits before it reads. CUDA's cudaTriggerProgrammaticLaunchCompletion.
__device__ __forceinline__ void let_next_kernel_begin() {
#if defined(RUNGS_CUDA_ON_CPU) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Waits until the kernels before this one have ended and all that they wrote can be read. CUDA's
/// cudaGridDependencySynchronize.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if defined(RUNGS_CUDA_ON_CPU) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
  cudaGridDependencySynchronize();
#endif
}

}  // namespace rungs
