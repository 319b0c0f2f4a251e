/// Matrix products: the ladder of kernels/matmul. All matrices are row-major, all pointers belong to the device. A
/// launcher does not wait for its kernel. M, N and K may be any size; with K = 0 the product is all zeros.
#pragma once

#include <cuda_runtime.h>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// \name c = a · b in f32.  c: (M, N); a: (M, K); b: (K, N)
///@{
void matmul_01(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);  ///< naive
void matmul_02(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);  ///< coalesced
void matmul_03(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);  ///< shared tile
void matmul_04(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);  ///< register tile
/// Vectorized and double-buffered.
void matmul_05(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream);
///@}

/// c = a · bᵀ, b stored as a linear layer stores its weight and upcast to f32 while it is loaded.
/// c: (M, N); a: (M, K); b: (N, K) f32, bf16 or f16.
template <class W>
void matmul_05_transposed(float* c, const float* a, const W* b, int M, int N, int K, cudaStream_t stream);

/// \name c = a · bᵀ on tensor cores, products of bf16 summed in f32.  c: (M, N); a: (M, K); b: (N, K)
///@{
void matmul_06(float* c, const bf16* a, const bf16* b, int M, int N, int K, cudaStream_t stream);  ///< wmma

/// mma.sync with ldmatrix and swizzled asynchronous copies.  a: (M, parts · K): with parts = 2 each row holds the high
/// and then the low halves that split_bf16 makes, c is the product with their sum, and so nearly as good as in f32.
void matmul_07(float* c, const bf16* a, const bf16* b, int M, int N, int K, int parts, cudaStream_t stream);

/// The same by wgmma and TMA. Only where nvcc compiled the kernels, and only for a GPU of compute capability 9.0; see
/// matmul_08_runs_here.
void matmul_08(float* c, const bf16* a, const bf16* b, int M, int N, int K, int parts, cudaStream_t stream);
bool matmul_08_runs_here();  ///< whether the current device has what matmul_08 needs; where nvcc compiled the kernels
///@}

/// out[m] = the bf16 nearest to each x[m], and with parts = 2 then the bf16 nearest to what that leaves: 16 bits of
/// significand in two parts.  out: (M, parts · K); x: (M, K); parts: 1 or 2.
void split_bf16(bf16* out, const float* x, int M, int K, int parts, cudaStream_t stream);

}  // namespace rungs
