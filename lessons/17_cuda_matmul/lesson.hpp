/// Lesson 17: a product that climbs a ladder of five rungs.
#pragma once

#include "kernels/launch.cuh"
#include "rungs/base/error.hpp"

/// Lesson 17, 17_cuda_matmul.
namespace lesson_17 {

using namespace rungs;

/// \name Five ways to the same product
/// c = a · b.  c: (M, N); a: (M, K); b: (K, N); row-major, in the memory of the device, each beginning at a multiple of
/// 16 bytes, as cudaMalloc gives it. Any sizes. None waits for its kernel.
///@{

/// One thread for each element of c. Threads that differ by one in x make neighbours of a row.
void matmul_coalesced(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);

/// The same, and the threads of a block bring square tiles of a and b into shared memory, which each of them reads.
void matmul_tiled(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);

/// The same with larger tiles, and each thread keeps 4 by 4 sums in registers.
void matmul_registers(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);

/// The same, moving four floats at a time.
void matmul_vectorized(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);

/// The same with 8 by 8 sums for each thread: two groups of four rows, and two of four columns.
void matmul_8x8(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);
///@}

}  // namespace lesson_17
