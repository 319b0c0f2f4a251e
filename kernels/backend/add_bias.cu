#include "kernels/backend/add_bias.hpp"
#include "kernels/launch.cuh"

namespace rungs {

/// A block per row and 256 of its columns: the bias of LLaMA's ancestors is short and stays in the cache.
/// out: (N, K); bias: (K)
__global__ void add_bias_kernel(float* out, const float* bias, int K) {
  const int n = blockIdx.y, k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < K) out[size_t(n) * K + k] += bias[k];
}

void add_bias(float* out, const float* bias, int N, int K, cudaStream_t stream) {
  constexpr int threads = 256, most = 65535;  // rows in a grid's second dimension
  for (int n = 0; n < N; n += most) {
    const dim3 grid(unsigned(ceil_div(K, threads)), unsigned(N - n < most ? N - n : most));
    launch(add_bias_kernel, {grid, threads, 0, stream}, out + size_t(n) * K, bias, K);
  }
}

}  // namespace rungs
