/// Layer norm of each row.
#pragma once

#include <cuda_runtime.h>

namespace rungs {

/// \name The rungs: out[n, c] = (x[n, c] - mean) / √(variance + epsilon) · weight[c] + bias[c]
/// The variance is the mean of (x - mean)². out, x: (N, C); weight, bias: (C). Device pointers; out may be x. They run
/// on `stream` and do not wait. Ba, Kiros, Hinton 2016, "Layer Normalization", equation 4.
///@{

/// One thread per row.
void layer_norm_01(float* out, const float* x, const float* weight, const float* bias, int N, int C, float epsilon,
                   cudaStream_t stream);
/// One warp per row.
void layer_norm_02(float* out, const float* x, const float* weight, const float* bias, int N, int C, float epsilon,
                   cudaStream_t stream);
///@}

}  // namespace rungs
