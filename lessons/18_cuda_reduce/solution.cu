#include <cmath>

#include "lesson.hpp"

namespace lesson_18 {

constexpr int threads = 256;                 // of a block: 8 warps
constexpr int most_warps = 32;               // that a block can have
constexpr unsigned all_lanes = 0xffffffffu;  // of a warp

/// How two values become one.
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// `value` of all threads of a block combined, in each of them. `neutral` changes nothing: 0 for a sum, -∞ for a
/// maximum.  partial: in shared memory, a place for each warp
template <class Combine>
__device__ float block_reduce(float value, float neutral, Combine combine, float* partial);

/// `value` of all 32 lanes of a warp combined, in each of them.
template <class Combine>
__device__ float warp_reduce(float value, Combine combine);

/// out: (N); x: (N, C). Block n sums row n.
__global__ void row_sum_kernel(float* out, const float* x, int C) {
  __shared__ float partial[most_warps];
  const float* x_n = x + size_t(blockIdx.x) * C;  // x[n, :]
  float sum = 0;
  // >>> sum = every blockDim.x-th element from this thread's on, then over the block; thread 0 writes out[n]
  for (int c = threadIdx.x; c < C; c += blockDim.x) sum += x_n[c];
  sum = block_reduce(sum, 0, Sum(), partial);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
  // <<<
}

void row_sum(float* out, const float* x, int N, int C, cudaStream_t stream) {
  launch(row_sum_kernel, {N, threads, 0, stream}, out, x, C);
}

template <class Combine>
__device__ float block_reduce(float value, float neutral, Combine combine, float* partial) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  // >>> combine within the warp; its first lane leaves the result in partial[warp]
  value = warp_reduce(value, combine);
  if (lane == 0) partial[warp] = value;
  // <<<

  // >>> when all partials are there, every warp combines them, a lane for each and neutral for the lanes left over
  __syncthreads();
  value = warp_reduce(lane < warps ? partial[lane] : neutral, combine);
  // <<<

  // >>> let nobody write the partials of the next call before everybody has read these
  __syncthreads();
  // <<<
  return value;
}

template <class Combine>
__device__ float warp_reduce(float value, Combine combine) {
  // >>> five times, combine with the lane that is 16, 8, 4, 2, then 1 away, by __shfl_xor_sync
  for (int distance = 16; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(all_lanes, value, distance));
  // <<<
  return value;
}

/// out, x: (N, C). Block n makes row n.
__global__ void softmax_kernel(float* out, const float* x, int C) {
  __shared__ float partial[most_warps];
  const float* x_n = x + size_t(blockIdx.x) * C;  // x[n, :]
  float* out_n = out + size_t(blockIdx.x) * C;    // out[n, :]
  float largest = -INFINITY, sum = 0;
  // >>> largest = the row's maximum, in every thread
  for (int c = threadIdx.x; c < C; c += blockDim.x) largest = fmaxf(largest, x_n[c]);
  largest = block_reduce(largest, -INFINITY, Max(), partial);
  // <<<

  // >>> sum = the row's Σ exp(x - largest), in every thread
  for (int c = threadIdx.x; c < C; c += blockDim.x) sum += expf(x_n[c] - largest);
  sum = block_reduce(sum, 0, Sum(), partial);
  // <<<

  // >>> out = exp(x - largest) / sum
  for (int c = threadIdx.x; c < C; c += blockDim.x) out_n[c] = expf(x_n[c] - largest) / sum;
  // <<<
}

void softmax(float* out, const float* x, int N, int C, cudaStream_t stream) {
  launch(softmax_kernel, {N, threads, 0, stream}, out, x, C);
}

/// out, x: (N, C); weight: (C). Block n makes row n.
__global__ void rms_norm_kernel(float* out, const float* x, const float* weight, int C, float epsilon) {
  __shared__ float partial[most_warps];
  const float* x_n = x + size_t(blockIdx.x) * C;  // x[n, :]
  float* out_n = out + size_t(blockIdx.x) * C;    // out[n, :]
  float squares = 0;
  // >>> squares = the row's Σ x², in every thread
  for (int c = threadIdx.x; c < C; c += blockDim.x) squares += x_n[c] * x_n[c];
  squares = block_reduce(squares, 0, Sum(), partial);
  // <<<

  // >>> out = x / √(squares / C + epsilon) · weight
  const float scale = rsqrtf(squares / float(C) + epsilon);
  for (int c = threadIdx.x; c < C; c += blockDim.x) out_n[c] = x_n[c] * scale * weight[c];
  // <<<
}

void rms_norm(float* out, const float* x, const float* weight, int N, int C, float epsilon, cudaStream_t stream) {
  launch(rms_norm_kernel, {N, threads, 0, stream}, out, x, weight, C, epsilon);
}

}  // namespace lesson_18
