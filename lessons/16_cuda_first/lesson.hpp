/// Lesson 16: the first kernels, a thread for each number.
#pragma once

#include "kernels/launch.cuh"
#include "rungs/base/error.hpp"

/// Lesson 16, 16_cuda_first.
namespace lesson_16 {

using namespace rungs;

/// out = x + y, element by element, one thread each.  out, x, y: (n), in the memory of the device.
/// Does not wait for the kernel.
void add(float* out, const float* x, const float* y, int n, cudaStream_t stream);

/// The same for arrays in the memory of the host: copies x and y to the device, adds there, and copies the sum back.
/// When it returns, out is written and the device's memory is as free as before.
/// \throws CudaError when a call of the CUDA runtime fails, for example for want of memory
void add_from_host(float* out, const float* x, const float* y, int n);

/// c = a · b, one thread for each element of c.  c: (M, N); a: (M, K); b: (K, N); row-major, in the memory of the
/// device. Does not wait for the kernel.
void matmul(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);

}  // namespace lesson_16
