#include <cfloat>

#include "kernels/launch.cuh"
#include "kernels/softmax/softmax.hpp"

namespace rungs {

/// Rung 1: one thread per row, as one would write it for a CPU. Neighbouring threads read floats that are C apart, so
/// every load of a warp touches 32 places in memory. The maximum is subtracted so that no exponential overflows.
__global__ void softmax_thread_per_row(float* out, const float* x, int N, int C) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= N) return;
  const float* x_n = x + size_t(n) * C;  // x[n, :]
  float* out_n = out + size_t(n) * C;    // out[n, :]

  float largest = -FLT_MAX;
  for (int c = 0; c < C; ++c) largest = fmaxf(largest, x_n[c]);
  float sum = 0;
  for (int c = 0; c < C; ++c) sum += expf(x_n[c] - largest);
  for (int c = 0; c < C; ++c) out_n[c] = expf(x_n[c] - largest) / sum;
}

void softmax_01(float* out, const float* x, int N, int C, cudaStream_t stream) {
  if (N == 0 || C == 0) return;
  constexpr int threads = 128;
  launch(softmax_thread_per_row, {ceil_div(N, threads), threads, 0, stream}, out, x, N, C);
}

}  // namespace rungs
