/// Rung 2: one warp per row of the weight. The lanes read neighbouring numbers of one row, so that all of every sector
/// is used; at the end they add their sums.
#include "kernels/floats.cuh"
#include "kernels/gemv/gemv.hpp"
#include "kernels/warp.cuh"

namespace rungs {

/// y: (N, K); x: (N, C); weight: (K, C). Row n of x: blockIdx.y.
template <class W>
__global__ void gemv_warp_per_row(float* y, const float* x, const W* weight, int K, int C) {
  const int lane = threadIdx.x % 32;
  const int n = blockIdx.y, k = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (k >= K) return;  // the whole warp leaves together, so warp_sum stays legal

  float sum = 0.0f;
  for (int c = lane; c < C; c += 32) sum += x[size_t(n) * C + c] * to_f32(weight[size_t(k) * C + c]);
  sum = warp_sum(sum);
  if (lane == 0) y[size_t(n) * K + k] = sum;
}

template <class W>
void gemv_02(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream) {
  if (N == 0 || K == 0) return;
  constexpr int warps = 4;  // rows of a block
  launch(gemv_warp_per_row<W>, {dim3(ceil_div(K, warps), N), warps * 32, 0, stream}, y, x, weight, K, C);
}
template void gemv_02(float*, const float*, const float*, int, int, int, cudaStream_t);
template void gemv_02(float*, const float*, const bf16*, int, int, int, cudaStream_t);
template void gemv_02(float*, const float*, const f16*, int, int, int, cudaStream_t);

}  // namespace rungs
