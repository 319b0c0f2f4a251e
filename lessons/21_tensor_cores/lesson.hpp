/// Lesson 21: products on tensor cores.
#pragma once

#include "kernels/launch.cuh"
#include "rungs/base/error.hpp"
#include "rungs/tensor/dtype.hpp"

/// Lesson 21, 21_tensor_cores.
namespace lesson_21 {

using namespace rungs;

/// \name Three ways to the same product
/// c = a · bᵀ, sums in f32.  c: (M, N) f32; a: (M, K) bf16; b: (N, K) bf16, as a linear layer stores its weight; in the
/// memory of the device. None waits for its kernel.
///@{

/// A warp for each 16 x 8 elements of c, whose lanes collect the fragments by hand. Any sizes.
void matmul_fragments(float* c, const bf16* a, const bf16* b, int M, int N, int K, cudaStream_t stream);

/// A block of four warps for each 32 x 32 elements of c, through shared memory. Any M and N; K is a multiple of 8, so
/// that every row begins at a multiple of 16 bytes.
void matmul_tiles(float* c, const bf16* a, const bf16* b, int M, int N, int K, cudaStream_t stream);

/// The same with two pairs of tiles: one is filled while the other is multiplied.
void matmul_pipeline(float* c, const bf16* a, const bf16* b, int M, int N, int K, cudaStream_t stream);
///@}

}  // namespace lesson_21
