#include "kernels/silu_mul/silu.cuh"
#include "kernels/silu_mul/silu_mul.hpp"

namespace rungs {

/// Rung 2: 16 bytes per load and store. The last elements, fewer than `width`, fall to the thread after the others.
template <int width>
__global__ void silu_mul_vector(float* gate, const float* up, int64_t count) {
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * width;
  if (i + width <= count) {
    store<width>(gate + i, silu_mul(load<width>(gate + i), load<width>(up + i)));
  } else {
    for (int64_t j = i; j < count; ++j) store<1>(gate + j, silu_mul(load<1>(gate + j), load<1>(up + j)));
  }
}

void silu_mul_02(float* gate, const float* up, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  constexpr int threads = 256;
  if (aligned_to(4, gate, up))
    launch(silu_mul_vector<4>, {unsigned(ceil_div(count, 4 * threads)), threads, 0, stream}, gate, up, count);
  else
    launch(silu_mul_vector<1>, {unsigned(ceil_div(count, threads)), threads, 0, stream}, gate, up, count);
}

}  // namespace rungs
