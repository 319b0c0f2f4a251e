/// The gate of a feed-forward layer.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// \name The rungs: gate = silu(gate) · up, in place; silu(x) = x / (1 + exp(-x))
/// gate, up: count elements, device pointers. They run on `stream` and do not wait.
/// Shazeer 2020, "GLU Variants Improve Transformer", equation 6.
///@{
void silu_mul_01(float* gate, const float* up, int64_t count, cudaStream_t stream);  ///< one thread per element
void silu_mul_02(float* gate, const float* up, int64_t count, cudaStream_t stream);  ///< 16 bytes per thread
///@}

/// \name Fused: rung 2 with another beginning or end
/// gate_up: (N, 2F), in each row the F gates, then the F ups, as one product makes them. `parts` is (N, 2F) bf16: in
/// each row the F results rounded, then the F rests rounded, as matmul_07 takes them.
///@{

/// out (N, F) = silu(gate) · up.
void silu_mul_joined(float* out, const float* gate_up, int N, int F, cudaStream_t stream);
/// The same as two parts.
void silu_mul_joined_split(bf16* parts, const float* gate_up, int N, int F, cudaStream_t stream);
/// As two parts from gate, up: (N, F), which stay as they were.
void silu_mul_split(bf16* parts, const float* gate, const float* up, int N, int F, cudaStream_t stream);
///@}

}  // namespace rungs
