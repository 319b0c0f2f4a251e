/// cuBLAS as a yardstick. It is looked for when the program runs, so that nothing needs it to be built.
#pragma once

#include <cuda_runtime.h>

#include "rungs/tensor/dtype.hpp"

namespace rungs::bench {

/// \name c (M, N) = a (M, K) · b, row-major. They run on the default stream.
/// \returns false where there is no cuBLAS, or it fails
///@{
bool cublas_f32(float* c, const float* a, const float* b, int M, int N, int K);  ///< b: (K, N); no TF32
bool cublas_bf16(float* c, const bf16* a, const bf16* b, int M, int N, int K);   ///< b: (N, K); sums in f32
///@}

}  // namespace rungs::bench
