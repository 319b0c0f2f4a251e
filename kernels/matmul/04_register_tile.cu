/// Rung 4: a thread computes 8 x 8 elements of c in registers. A step of k reads 8 + 8 numbers from shared memory for
/// 64 products, where rung 3 reads 2 for one: shared memory was its limit.
#include "kernels/launch.cuh"
#include "kernels/matmul/matmul.hpp"

namespace rungs {

/// c: (M, N); a: (M, K); b: (K, N). A block of 256 threads computes a tile of 128 x 128.
__global__ void __launch_bounds__(256)
    matmul_register_tile(float* c, const float* a, const float* b, int M, int N, int K) {
  constexpr int tile = 128, depth = 8, mine = 8, threads = 256;
  __shared__ __align__(16) float a_tile[depth][tile + 4];  // (k, m); the 4 spread the transposing stores over the banks
  __shared__ __align__(16) float b_tile[depth][tile];      // (k, n)
  const int thread = threadIdx.x;
  const int m0 = blockIdx.y * tile, n0 = blockIdx.x * tile;                              // this block's corner of c
  const int my_m = thread / (tile / mine) * mine, my_n = thread % (tile / mine) * mine;  // this thread's, in the tile

  float sum[mine][mine] = {};
  for (int k0 = 0; k0 < K; k0 += depth) {
    for (int i = thread; i < tile * depth; i += threads) {
      const int m = i / depth, k = i % depth;
      a_tile[k][m] = m0 + m < M && k0 + k < K ? a[size_t(m0 + m) * K + k0 + k] : 0.0f;
    }
    for (int i = thread; i < depth * tile; i += threads) {
      const int k = i / tile, n = i % tile;
      b_tile[k][n] = k0 + k < K && n0 + n < N ? b[size_t(k0 + k) * N + n0 + n] : 0.0f;
    }
    __syncthreads();

    for (int k = 0; k < depth; ++k) {
      float column[mine], row[mine];  // of a and of b
      for (int i = 0; i < mine; ++i) column[i] = a_tile[k][my_m + i];
      for (int j = 0; j < mine; ++j) row[j] = b_tile[k][my_n + j];
      for (int i = 0; i < mine; ++i)
        for (int j = 0; j < mine; ++j) sum[i][j] += column[i] * row[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < mine; ++i)
    for (int j = 0; j < mine; ++j) {
      const int m = m0 + my_m + i, n = n0 + my_n + j;
      if (m < M && n < N) c[size_t(m) * N + n] = sum[i][j];
    }
}

void matmul_04(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  if (M == 0 || N == 0) return;
  launch(matmul_register_tile, {dim3(ceil_div(N, 128), ceil_div(M, 128)), 256, 0, stream}, c, a, b, M, N, K);
}

}  // namespace rungs
