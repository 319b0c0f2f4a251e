/// Rung 2: neighbouring threads take neighbouring *columns*. All of a warp reads the same number of a, one transaction,
/// and 32 neighbours of b, four full sectors; the store of c is as dense. Only x and y changed places.
#include "kernels/launch.cuh"
#include "kernels/matmul/matmul.hpp"

namespace rungs {

/// c: (M, N); a: (M, K); b: (K, N).
__global__ void matmul_coalesced(float* c, const float* a, const float* b, int M, int N, int K) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  const int m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m >= M || n >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += a[size_t(m) * K + k] * b[size_t(k) * N + n];
  c[size_t(m) * N + n] = sum;
}

void matmul_02(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  if (M == 0 || N == 0) return;
  launch(matmul_coalesced, {dim3(ceil_div(N, 32), ceil_div(M, 8)), dim3(32, 8), 0, stream}, c, a, b, M, N, K);
}

}  // namespace rungs
