/// Sums and maxima element by element.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace rungs {

/// \name The rungs
/// x, y: count elements, device pointers. They run on `stream` and do not wait.
///@{
void add_01(float* x, const float* y, int64_t count, cudaStream_t stream);  ///< x += y, one thread per element
void add_02(float* x, const float* y, int64_t count, cudaStream_t stream);  ///< x += y, 16 bytes per thread
void relu_01(float* x, int64_t count, cudaStream_t stream);                 ///< x = max(x, 0), one thread per element
void relu_02(float* x, int64_t count, cudaStream_t stream);                 ///< x = max(x, 0), 16 bytes per thread
///@}

}  // namespace rungs
