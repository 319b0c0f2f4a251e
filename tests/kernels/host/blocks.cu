#include "host_kernels.hpp"
#include "rungs/base/error.hpp"

namespace rungs::test {

__device__ int flat(const uint3& i, const dim3& size) { return int(i.x + size.x * (i.y + size.y * i.z)); }

__global__ void write_places(Place* out) {
  const int threads = int(blockDim.x * blockDim.y * blockDim.z);
  out[flat(blockIdx, gridDim) * threads + flat(threadIdx, blockDim)] = {threadIdx, blockIdx, blockDim, gridDim};
}

__global__ void reverse_block(float* out, const float* x) {
  __shared__ float tile[256];
  const size_t first = size_t(blockIdx.x) * blockDim.x;
  tile[threadIdx.x] = x[first + threadIdx.x];
  __syncthreads();
  out[first + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

template <class T>
__global__ void sum_dynamic(float* out, const T* x) {
  DYNAMIC_SHARED(T, tile);
  tile[threadIdx.x] = x[threadIdx.x];
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) tile[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *out = float(tile[0]);
}
template __global__ void sum_dynamic(float*, const float*);
template __global__ void sum_dynamic(float*, const double*);

__global__ void count_votes(int* out, int below) {
  const bool yes = int(threadIdx.x) < below;
  int* mine = out + 3 * threadIdx.x;
  mine[0] = __syncthreads_count(yes);
  mine[1] = __syncthreads_or(yes);
  mine[2] = __syncthreads_and(yes);
}

__global__ void note_order(int* order, int* next) {
  order[atomicAdd(next, 1)] = int(threadIdx.x);
  __syncthreads();
  order[atomicAdd(next, 1)] = int(threadIdx.x);
}

__global__ void note_blocks(int* order, int* next) { order[atomicAdd(next, 1)] = int(blockIdx.x); }

__global__ void fresh_shared(float* static_out, float* dynamic_out) {
  __shared__ float tile[32];
  DYNAMIC_SHARED(float, dynamic);
  static_out[blockIdx.x * 32 + threadIdx.x] = tile[threadIdx.x];
  dynamic_out[blockIdx.x * 32 + threadIdx.x] = dynamic[threadIdx.x];
  tile[threadIdx.x] = dynamic[threadIdx.x] = 1;  // the next block must not see this
}

__global__ void leave_before_barrier(int stay) {
  if (int(threadIdx.x) >= stay) return;
  __syncthreads();
}

__global__ void two_barriers(int first) {
  if (int(threadIdx.x) < first)
    __syncthreads();
  else
    __syncthreads();
}

__global__ void barrier_and_shuffle() {
  if (threadIdx.x < 32 || threadIdx.x == 40)
    __syncthreads();
  else
    __shfl_sync(0xffffffffu, 1, 0);
}

__global__ void trap_in(int thread) {
  if (int(threadIdx.x) == thread) __trap();
}

__global__ void throw_in(int thread) {
  if (int(threadIdx.x) == thread) throw Error("a message of the kernel's own");
}

__global__ void sum_argument(float* out, Large large) {
  float sum = 0;
  for (float x : large.at) sum += x;
  large.at[0] = 1e9f;  // a parameter is the thread's own
  out[threadIdx.x] = sum;
}

}  // namespace rungs::test
