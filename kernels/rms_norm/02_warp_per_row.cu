#include "kernels/floats.cuh"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/warp.cuh"

namespace rungs {

/// Rung 2: one warp per row. Neighbouring lanes read neighbouring floats, so the loads coalesce, and the lanes combine
/// their sums by shuffles.
template <class W>
__global__ void rms_norm_warp_per_row(float* out, const float* x, const W* weight, int N, int C, float epsilon) {
  const int n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;  // this warp's row
  const int lane = threadIdx.x % 32;
  if (n >= N) return;                    // the whole warp leaves together, so the shuffles stay legal
  const float* x_n = x + size_t(n) * C;  // x[n, :]
  float* out_n = out + size_t(n) * C;    // out[n, :]

  float squares = 0;
  for (int c = lane; c < C; c += 32) squares += x_n[c] * x_n[c];
  const float scale = rsqrtf(warp_sum(squares) / float(C) + epsilon);
  for (int c = lane; c < C; c += 32) out_n[c] = x_n[c] * scale * to_f32(weight[c]);
}

template <class W>
void rms_norm_02(float* out, const float* x, const W* weight, int N, int C, float epsilon, cudaStream_t stream) {
  if (N == 0 || C == 0) return;
  constexpr int warps = 4;  // rows of a block
  launch(rms_norm_warp_per_row<W>, {ceil_div(N, warps), warps * 32, 0, stream}, out, x, weight, N, C, epsilon);
}

template void rms_norm_02(float*, const float*, const float*, int, int, float, cudaStream_t);
template void rms_norm_02(float*, const float*, const bf16*, int, int, float, cudaStream_t);
template void rms_norm_02(float*, const float*, const f16*, int, int, float, cudaStream_t);

}  // namespace rungs
