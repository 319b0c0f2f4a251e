#include <cfloat>

#include "kernels/softmax/softmax.hpp"
#include "kernels/warp.cuh"

namespace rungs {

/// Rung 2: one warp per row. Neighbouring lanes read neighbouring floats, so the loads coalesce, and the lanes combine
/// their maxima and sums by shuffles.
__global__ void softmax_warp_per_row(float* out, const float* x, int N, int C) {
  const int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;  // this warp's row
  const int lane = threadIdx.x % 32;
  if (n >= N) return;                    // the whole warp leaves together, so the shuffles stay legal
  const float* x_n = x + size_t(n) * C;  // x[n, :]
  float* out_n = out + size_t(n) * C;    // out[n, :]

  float largest = -FLT_MAX;
  for (int c = lane; c < C; c += 32) largest = fmaxf(largest, x_n[c]);
  largest = warp_max(largest);
  float sum = 0;
  for (int c = lane; c < C; c += 32) sum += expf(x_n[c] - largest);
  const float scale = 1 / warp_sum(sum);
  for (int c = lane; c < C; c += 32) out_n[c] = expf(x_n[c] - largest) * scale;
}

void softmax_02(float* out, const float* x, int N, int C, cudaStream_t stream) {
  if (N == 0 || C == 0) return;
  constexpr int warps = 4;  // rows of a block
  launch(softmax_warp_per_row, {ceil_div(N, warps), warps * 32, 0, stream}, out, x, N, C);
}

}  // namespace rungs
