/// Rung 1: one thread per row of the weight. Neighbouring threads read numbers that lie C apart: of every sector of 32
/// bytes that comes, one number is used before the next 31 rows push it out of the cache.
#include "kernels/floats.cuh"
#include "kernels/gemv/gemv.hpp"

namespace rungs {

/// y: (N, K); x: (N, C); weight: (K, C). Row n of x: blockIdx.y.
template <class W>
__global__ void gemv_thread_per_row(float* y, const float* x, const W* weight, int K, int C) {
  const int n = blockIdx.y, k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= K) return;

  float sum = 0.0f;
  for (int c = 0; c < C; ++c) sum += x[size_t(n) * C + c] * to_f32(weight[size_t(k) * C + c]);
  y[size_t(n) * K + k] = sum;
}

template <class W>
void gemv_01(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream) {
  if (N == 0 || K == 0) return;
  constexpr int threads = 128;
  launch(gemv_thread_per_row<W>, {dim3(ceil_div(K, threads), N), threads, 0, stream}, y, x, weight, K, C);
}
template void gemv_01(float*, const float*, const float*, int, int, int, cudaStream_t);
template void gemv_01(float*, const float*, const bf16*, int, int, int, cudaStream_t);
template void gemv_01(float*, const float*, const f16*, int, int, int, cudaStream_t);

}  // namespace rungs
