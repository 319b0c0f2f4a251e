/// Lesson 18: threads that sum together.
#pragma once

#include "kernels/launch.cuh"
#include "rungs/base/error.hpp"

/// Lesson 18, 18_cuda_reduce.
namespace lesson_18 {

using namespace rungs;

/// \name A block for each row
/// All pointers are to memory of the device, rows are contiguous, any N and C above 0. None waits for its kernel.
///@{

/// Each row's sum.  out: (N); x: (N, C)
void row_sum(float* out, const float* x, int N, int C, cudaStream_t stream);

/// Each row: exp(x - max(x)) / Σ exp(x - max(x)).  out, x: (N, C)
void softmax(float* out, const float* x, int N, int C, cudaStream_t stream);

/// Each row: x / √(mean(x²) + epsilon) · weight.  out, x: (N, C); weight: (C).
/// Zhang, Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
void rms_norm(float* out, const float* x, const float* weight, int N, int C, float epsilon, cudaStream_t stream);
///@}

}  // namespace lesson_18
