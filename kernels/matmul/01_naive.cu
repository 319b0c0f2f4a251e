/// Rung 1: one thread per element of c, straight from the definition. Neighbouring threads take neighbouring *rows*, so
/// in every step a warp reads 32 numbers of a that lie K apart: 32 sectors of 32 bytes for 4 bytes of each.
#include "kernels/launch.cuh"
#include "kernels/matmul/matmul.hpp"

namespace rungs {

/// c: (M, N); a: (M, K); b: (K, N).
__global__ void matmul_naive(float* c, const float* a, const float* b, int M, int N, int K) {
  const int m = blockIdx.x * blockDim.x + threadIdx.x;
  const int n = blockIdx.y * blockDim.y + threadIdx.y;
  if (m >= M || n >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += a[size_t(m) * K + k] * b[size_t(k) * N + n];
  c[size_t(m) * N + n] = sum;
}

void matmul_01(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  if (M == 0 || N == 0) return;
  launch(matmul_naive, {dim3(ceil_div(M, 32), ceil_div(N, 8)), dim3(32, 8), 0, stream}, c, a, b, M, N, K);
}

}  // namespace rungs
