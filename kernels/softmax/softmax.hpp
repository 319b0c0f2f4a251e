/// Softmax of each row.
#pragma once

#include <cuda_runtime.h>

namespace rungs {

/// \name The rungs: out[n, c] = exp(x[n, c] - max) / sum of the same over c
/// out, x: (N, C), device pointers; out may be x. An element of -inf gives 0. They run on `stream` and do not wait.
///@{
void softmax_01(float* out, const float* x, int N, int C, cudaStream_t stream);  ///< one thread per row
void softmax_02(float* out, const float* x, int N, int C, cudaStream_t stream);  ///< one warp per row, shuffles
void softmax_03(float* out, const float* x, int N, int C,
                cudaStream_t stream);  ///< one block per row, online, 16 bytes
///@}

}  // namespace rungs
