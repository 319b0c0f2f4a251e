/// Products of a few rows with a weight, as decoding makes them: the ladder of kernels/gemv. Row-major, device
/// pointers. A launcher does not wait for its kernel. K and C may be any size. Up to 8 rows cost one reading of the
/// weight; more are taken 8 at a time. From rung 04 on weights and norms are read before the kernels before have ended
/// (overlap.cuh): where a kernel writes them, something must wait for it first, such as the host or an ordinary launch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// \name y = x · weightᵀ.  y: (N, K); x: (N, C); weight: (K, C) f32, bf16 or f16
///@{
template <class W>
void gemv_01(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream);  ///< thread per row
template <class W>
void gemv_02(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream);  ///< warp per row
template <class W>
void gemv_03(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream);  ///< 16-byte loads
/// As many weight rows per warp, or warps per weight row, as fill the GPU.
template <class W>
void gemv_04(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream);
///@}

/// y = x · (scale ∘ weight)ᵀ, each weight row with its scale.  y: (N, K); x: (N, C); weight: (K, C); scale: (K).
void gemv_int8(float* y, const float* x, const int8_t* weight, const float* scale, int N, int K, int C,
               cudaStream_t stream);

/// \name Rung 04 with what stands before or after the product fused into it
///@{

/// y += x · weightᵀ: the residual.  y: (N, K); x: (N, C); weight: (K, C).
template <class W>
void gemv_add(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream);

/// What gemv_norm_qkv writes and reads.
template <class W>
struct GemvQkv {
  float *q, *k, *v;       ///< (N, Kq), (N, Kkv), (N, Kkv)
  const W *wq, *wk, *wv;  ///< (Kq, C), (Kkv, C), (Kkv, C)
  const W* norm;          ///< (C)
  float epsilon;          ///< of the norm
};

/// q, k, v = the projections of rms_norm(x), one launch.  x: (N, C).
template <class W>
void gemv_norm_qkv(const GemvQkv<W>& io, const float* x, int N, int Kq, int Kkv, int C, cudaStream_t stream);

/// hidden = silu(normed · gateᵀ) ∘ (normed · upᵀ) with normed = rms_norm(x).  hidden: (N, F); x: (N, C); norm: (C);
/// gate, up: (F, C).
template <class W>
void gemv_norm_swiglu(float* hidden, const float* x, const W* norm, float epsilon, const W* gate, const W* up, int N,
                      int F, int C, cudaStream_t stream);
///@}

}  // namespace rungs
