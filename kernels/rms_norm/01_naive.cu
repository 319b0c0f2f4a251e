#include "kernels/floats.cuh"
#include "kernels/rms_norm/rms_norm.hpp"

namespace rungs {

/// Rung 1: one thread per row, as one would write it for a CPU. Neighbouring threads read floats that are C apart, so
/// every load of a warp touches 32 places in memory.
template <class W>
__global__ void rms_norm_thread_per_row(float* out, const float* x, const W* weight, int N, int C, float epsilon) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= N) return;
  const float* x_n = x + size_t(n) * C;  // x[n, :]
  float* out_n = out + size_t(n) * C;    // out[n, :]

  float squares = 0;
  for (int c = 0; c < C; ++c) squares += x_n[c] * x_n[c];
  const float scale = rsqrtf(squares / float(C) + epsilon);
  for (int c = 0; c < C; ++c) out_n[c] = x_n[c] * scale * to_f32(weight[c]);
}

template <class W>
void rms_norm_01(float* out, const float* x, const W* weight, int N, int C, float epsilon, cudaStream_t stream) {
  if (N == 0 || C == 0) return;
  constexpr int threads = 128;
  launch(rms_norm_thread_per_row<W>, {ceil_div(N, threads), threads, 0, stream}, out, x, weight, N, C, epsilon);
}

template void rms_norm_01(float*, const float*, const float*, int, int, float, cudaStream_t);
template void rms_norm_01(float*, const float*, const bf16*, int, int, float, cudaStream_t);
template void rms_norm_01(float*, const float*, const f16*, int, int, float, cudaStream_t);

}  // namespace rungs
