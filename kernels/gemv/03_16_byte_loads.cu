/// Rung 3: every lane loads 16 bytes at a time, 4 weights of f32 or 8 of bf16. A quarter or an eighth of the load
/// instructions keeps as many bytes on their way, and what is on its way decides the speed.
#include "kernels/gemv/chunks.cuh"
#include "kernels/gemv/gemv.hpp"
#include "kernels/warp.cuh"

namespace rungs {

/// y: (N, K); x: (N, C); weight: (K, C). Row n of x: blockIdx.y.
template <bool aligned, class W>
__global__ void gemv_16_byte_loads(float* y, const float* x, const W* weight, int K, int C) {
  const int lane = threadIdx.x % 32;
  const int n = blockIdx.y, k = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (k >= K) return;

  float sum = 0.0f;
  for (int c = lane * chunk<W>; c < C; c += 32 * chunk<W>) {
    const Few<chunk<W>> w = weights_at<aligned>(weight + size_t(k) * C, c, C);
    const Few<chunk<W>> in = inputs_at<aligned, chunk<W>>(x + size_t(n) * C, c, C);
    for (int e = 0; e < chunk<W>; ++e) sum += in.at[e] * w.at[e];
  }
  sum = warp_sum(sum);
  if (lane == 0) y[size_t(n) * K + k] = sum;
}

template <class W>
void gemv_03(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream) {
  if (N == 0 || K == 0) return;
  constexpr int warps = 4;  // rows of a block
  const auto kernel = chunks_aligned(C, x, weight) ? gemv_16_byte_loads<true, W> : gemv_16_byte_loads<false, W>;
  launch(kernel, {dim3(ceil_div(K, warps), N), warps * 32, 0, stream}, y, x, weight, K, C);
}
template void gemv_03(float*, const float*, const float*, int, int, int, cudaStream_t);
template void gemv_03(float*, const float*, const bf16*, int, int, int, cudaStream_t);
template void gemv_03(float*, const float*, const f16*, int, int, int, cudaStream_t);

}  // namespace rungs
