/// The bias of a linear layer.
#pragma once

#include <cuda_runtime.h>

namespace rungs {

/// out[n, k] += bias[k].  out: (N, K); bias: (K). Device pointers. Runs on `stream` and does not wait.
void add_bias(float* out, const float* bias, int N, int K, cudaStream_t stream);

}  // namespace rungs
