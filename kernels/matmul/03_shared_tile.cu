/// Rung 3: a block computes a square tile of c and walks along K in steps of one tile. Each step brings one tile of a
/// and one of b into shared memory, every number once, where 32 threads each read it: 32 times less traffic.
#include "kernels/launch.cuh"
#include "kernels/matmul/matmul.hpp"

namespace rungs {

/// c: (M, N); a: (M, K); b: (K, N). Block: (tile, tile) threads.
template <int tile>
__global__ void __launch_bounds__(tile* tile)
    matmul_shared_tile(float* c, const float* a, const float* b, int M, int N, int K) {
  __shared__ float a_tile[tile][tile];  // (m, k)
  __shared__ float b_tile[tile][tile];  // (k, n)
  const int x = threadIdx.x, y = threadIdx.y;
  const int m = blockIdx.y * tile + y, n = blockIdx.x * tile + x;

  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += tile) {
    // Beyond an edge stand zeros, which add nothing. No thread may leave early: all meet at the barriers.
    a_tile[y][x] = m < M && k0 + x < K ? a[size_t(m) * K + k0 + x] : 0.0f;
    b_tile[y][x] = k0 + y < K && n < N ? b[size_t(k0 + y) * N + n] : 0.0f;
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < tile; ++k) sum += a_tile[y][k] * b_tile[k][x];
    __syncthreads();  // nobody reads them any more
  }
  if (m < M && n < N) c[size_t(m) * N + n] = sum;
}

void matmul_03(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  if (M == 0 || N == 0) return;
  constexpr int tile = 32;
  launch(matmul_shared_tile<tile>, {dim3(ceil_div(N, tile), ceil_div(M, tile)), dim3(tile, tile), 0, stream}, c, a, b,
         M, N, K);
}

}  // namespace rungs
