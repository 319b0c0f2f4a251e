#include "kernels/elementwise/elementwise.hpp"
#include "kernels/floats.cuh"

namespace rungs {

constexpr int threads = 256;

/// Rung 2: 16 bytes per load and store, a quarter of the instructions for the same bytes. The last elements, fewer than
/// `width`, fall to the thread after the others.
template <int width>
__global__ void add_vector(float* x, const float* y, int64_t count) {
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * width;
  if (i + width <= count) {
    Few<width> few = load<width>(x + i);
    const Few<width> more = load<width>(y + i);
    for (int j = 0; j < width; ++j) few.at[j] += more.at[j];
    store<width>(x + i, few);
  } else {
    for (int64_t j = i; j < count; ++j) x[j] += y[j];
  }
}

/// Rung 2, as add_vector.
template <int width>
__global__ void relu_vector(float* x, int64_t count) {
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * width;
  if (i + width <= count) {
    Few<width> few = load<width>(x + i);
    for (int j = 0; j < width; ++j) few.at[j] = few.at[j] < 0 ? 0 : few.at[j];
    store<width>(x + i, few);
  } else {
    for (int64_t j = i; j < count; ++j)
      if (x[j] < 0) x[j] = 0;
  }
}

void add_02(float* x, const float* y, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  if (aligned_to(4, x, y))
    launch(add_vector<4>, {unsigned(ceil_div(count, 4 * threads)), threads, 0, stream}, x, y, count);
  else
    launch(add_vector<1>, {unsigned(ceil_div(count, threads)), threads, 0, stream}, x, y, count);
}

void relu_02(float* x, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  if (aligned_to(4, x))
    launch(relu_vector<4>, {unsigned(ceil_div(count, 4 * threads)), threads, 0, stream}, x, count);
  else
    launch(relu_vector<1>, {unsigned(ceil_div(count, threads)), threads, 0, stream}, x, count);
}

}  // namespace rungs
