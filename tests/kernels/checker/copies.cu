// Asynchronous copies from device to shared memory.
#include <cuda_pipeline_primitives.h>

#include "checker/faults.hpp"

namespace rungs::test {
namespace {

template <bool right>
__global__ void no_wait(float* p) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &p[t], 4);  // fault: no wait
  __pipeline_commit();
  if constexpr (right) __pipeline_wait_prior(0);
  const float mine = tile[t];  // fault: no wait
  if constexpr (!right) __pipeline_wait_prior(0);
  p[t] = mine;
}
const Plant plant_1("no wait", __FILE__, "an asynchronous copy is not waited for", [](bool right) {
  DeviceFloats p(64);
  run_one(right, no_wait<true>, no_wait<false>, {1, 64}, p);
});

template <bool right>
__global__ void wait_without_barrier(float* p) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &p[t], 4);  // fault: wait without barrier
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if constexpr (right) __syncthreads();
  p[64 + t] = tile[63 - t];  // fault: wait without barrier
}
const Plant plant_2("wait without barrier", __FILE__, "", [](bool right) {
  DeviceFloats p(128);
  run_one(right, wait_without_barrier<true>, wait_without_barrier<false>, {1, 64}, p);
});

// The next tile comes into a buffer that others still read.
template <bool right>
__global__ void too_early(float* p) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < 3; ++i) {
    __pipeline_memcpy_async(&tile[t], &p[t], 4);  // fault: too early
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += tile[63 - t];  // fault: too early
    if constexpr (right) __syncthreads();
  }
  p[64 + t] = sum;
}
const Plant plant_3("too early", __FILE__, "", [](bool right) {
  DeviceFloats p(128);
  run_one(right, too_early<true>, too_early<false>, {1, 64}, p);
});

// Two buffers: while one is used, the other is filled. The wait leaves one group too many under way.
template <bool right>
__global__ void wrong_count(float* p, int tiles) {
  __shared__ float tile[2][64];
  const int t = threadIdx.x;
  float sum = 0.0f;
  __pipeline_memcpy_async(&tile[0][t], &p[t], 4);  // fault: wrong count
  __pipeline_commit();
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) __pipeline_memcpy_async(&tile[(i + 1) % 2][t], &p[t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(right ? 1 : 2);
    __syncthreads();
    sum += tile[i % 2][63 - t];  // fault: wrong count
    __syncthreads();
  }
  p[64 + t] = sum;
}
const Plant plant_4("wrong count", __FILE__, "an asynchronous copy is not waited for", [](bool right) {
  DeviceFloats p(128);
  run_one(right, wrong_count<true>, wrong_count<false>, {1, 64}, p, 4);
});

template <bool right>
__global__ void never_waited(float* p) {
  __shared__ float tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], &p[threadIdx.x], 4);
  __pipeline_commit();
  if constexpr (right) __pipeline_wait_prior(0);
}
const Plant plant_5("never waited", __FILE__, "wait", [](bool right) {
  DeviceFloats p(64);
  run_one(right, never_waited<true>, never_waited<false>, {1, 64}, p);
});

template <bool right>
__global__ void copy_misaligned(float* p) {
  __shared__ __align__(16) float tile[256];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[4 * t], &p[4 * t + (right ? 0 : 1)], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
const Plant plant_6("copy misaligned", __FILE__, "align", [](bool right) {
  DeviceFloats p(256);
  run_one(right, copy_misaligned<true>, copy_misaligned<false>, {1, 32}, p);
});

template <bool right>
__global__ void copy_from_beyond(float* p) {
  __shared__ __align__(16) float tile[256];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[4 * t], &p[4 * t], 16, right && t == 31 ? 16 : 0);  // fault: copy from beyond
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
const Plant plant_7("copy from beyond", __FILE__, "out of bounds", [](bool right) {
  DeviceFloats p(124);
  run_one(right, copy_from_beyond<true>, copy_from_beyond<false>, {1, 32}, p);
});

}  // namespace
}  // namespace rungs::test
