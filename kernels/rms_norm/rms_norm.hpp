/// RMSNorm of each row, alone and fused with the split that a product on tensor cores wants.
#pragma once

#include <cuda_runtime.h>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// \name The rungs: out[n, c] = x[n, c] / √(mean over c of x²  + epsilon) · weight[c]
/// out, x: (N, C); weight: (C), W is float, bf16 or f16. Device pointers; out may be x. They run on `stream` and do not
/// wait. Zhang, Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
///@{

/// One thread per row.
template <class W>
void rms_norm_01(float* out, const float* x, const W* weight, int N, int C, float epsilon, cudaStream_t stream);
/// One warp per row.
template <class W>
void rms_norm_02(float* out, const float* x, const W* weight, int N, int C, float epsilon, cudaStream_t stream);
/// One block per row, 16-byte loads, the row kept in registers.
template <class W>
void rms_norm_03(float* out, const float* x, const W* weight, int N, int C, float epsilon, cudaStream_t stream);
///@}

/// out = rms_norm(x): rung 3 with another end. `out` is (N, parts · C) bf16: in each row the C results rounded, and
/// with parts = 2 then the C rests rounded; their sum is the f32 result to 2⁻¹⁷ of it. matmul_07 takes it as it is. x:
/// (N, C).
template <class W>
void rms_norm_split(bf16* out, const float* x, const W* weight, int N, int C, float epsilon, int parts,
                    cudaStream_t stream);

}  // namespace rungs
