#include "kernels/elementwise/elementwise.hpp"
#include "kernels/launch.cuh"

namespace rungs {

constexpr int threads = 256;

/// Rung 1: one thread per element.
__global__ void add_thread_per_element(float* x, const float* y, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) x[i] += y[i];
}

/// Rung 1: one thread per element. A NaN stays one, as fmaxf would not let it.
__global__ void relu_thread_per_element(float* x, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count && x[i] < 0) x[i] = 0;
}

void add_01(float* x, const float* y, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  launch(add_thread_per_element, {unsigned(ceil_div(count, threads)), threads, 0, stream}, x, y, count);
}

void relu_01(float* x, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  launch(relu_thread_per_element, {unsigned(ceil_div(count, threads)), threads, 0, stream}, x, count);
}

}  // namespace rungs
