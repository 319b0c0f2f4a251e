#include "kernels/launch.cuh"
#include "kernels/silu_mul/silu_mul.hpp"

namespace rungs {

/// Rung 1: one thread per element. Where exp(-g) overflows the quotient is 0, as it should be.
__global__ void silu_mul_thread_per_element(float* gate, const float* up, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) gate[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}

void silu_mul_01(float* gate, const float* up, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  constexpr int threads = 256;
  launch(silu_mul_thread_per_element, {unsigned(ceil_div(count, threads)), threads, 0, stream}, gate, up, count);
}

}  // namespace rungs
