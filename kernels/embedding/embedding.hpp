/// Rows of a table by their index.
#pragma once

#include <cuda_runtime.h>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// \name The rungs: out[n] = table[index[n]]
/// out: (N, C); table: (V, C), W is float, bf16 or f16; index: (N), each in [0, V). Device pointers. They run on
/// `stream` and do not wait.
///@{

/// One thread per element.
template <class W>
void embedding_01(float* out, const W* table, const int* index, int N, int C, cudaStream_t stream);
/// 16 bytes of the table per thread.
template <class W>
void embedding_02(float* out, const W* table, const int* index, int N, int C, cudaStream_t stream);
///@}

}  // namespace rungs
