/// The gate of a feed-forward layer.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace rungs {

/// \name The rungs: gate = silu(gate) · up, in place; silu(x) = x / (1 + exp(-x))
/// gate, up: count elements, device pointers. They run on `stream` and do not wait.
/// Shazeer 2020, "GLU Variants Improve Transformer", equation 6.
///@{
void silu_mul_01(float* gate, const float* up, int64_t count, cudaStream_t stream);  ///< one thread per element
void silu_mul_02(float* gate, const float* up, int64_t count, cudaStream_t stream);  ///< 16 bytes per thread
///@}

/// out (N, F) = silu(gate) · up, rung 2 from one tensor. gate_up: (N, 2F), in each row the F gates, then the F ups, as
/// one product with packed weights makes them.
void silu_mul_packed(float* out, const float* gate_up, int N, int F, cudaStream_t stream);

}  // namespace rungs
