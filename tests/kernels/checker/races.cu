// Races on shared memory between threads of a block.
#include "checker/faults.hpp"

namespace rungs::test {
namespace {

template <bool right>
__global__ void barrier_before(float* p) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  tile[t] = p[t];  // fault: barrier before
  if constexpr (right) __syncthreads();
  p[t] = tile[63 - t];  // fault: barrier before
}
const Plant plant_1("barrier before", __FILE__, "race: this thread ", [](bool right) {
  DeviceFloats p(64);
  run_one(right, barrier_before<true>, barrier_before<false>, {1, 64}, p);
});

template <bool right>
__global__ void barrier_after(float* p) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i) {
    tile[t] = p[t] + float(i);  // fault: barrier after
    __syncthreads();
    sum += tile[(t + 1) % 64];  // fault: barrier after
    if constexpr (right) __syncthreads();
  }
  p[t] = sum;
}
const Plant plant_2("barrier after", __FILE__, "__syncthreads() is missing", [](bool right) {
  DeviceFloats p(64);
  run_one(right, barrier_after<true>, barrier_after<false>, {1, 64}, p);
});

template <bool right>
__global__ void all_write(float* p) {
  __shared__ float result;
  if (!right || threadIdx.x == 0) result = p[threadIdx.x];  // fault: all write
  __syncthreads();
  p[threadIdx.x] = result;
}
const Plant plant_3("all write", __FILE__, "writes bytes 0 to 3 of the shared array result", [](bool right) {
  DeviceFloats p(64);
  run_one(right, all_write<true>, all_write<false>, {1, 64}, p);
});

template <bool right>
__global__ void halving(float* p) {
  __shared__ float sums[128];
  const int t = threadIdx.x;
  sums[t] = p[t];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];  // fault: halving
    if constexpr (right) __syncthreads();
  }
  if (t == 0) p[0] = sums[0];
}
const Plant plant_4("halving", __FILE__, "race", [](bool right) {
  DeviceFloats p(128);
  run_one(right, halving<true>, halving<false>, {1, 128}, p);
});

// A thousand threads read; one of any warp writes.
template <bool right>
__global__ void many_readers(float* p, int writer) {
  __shared__ float value;
  if (threadIdx.x == 0) value = p[0];
  __syncthreads();
  p[threadIdx.x] = value;  // fault: many readers
  if constexpr (right) __syncthreads();
  if (int(threadIdx.x) == writer) value = 1.0f;  // fault: many readers
}
void run_many_readers(bool right, int writer) {
  DeviceFloats p(1024);
  run_one(right, many_readers<true>, many_readers<false>, {1, 1024}, p, writer);
}
const Plant plant_5a("many readers", __FILE__, "race", [](bool right) { run_many_readers(right, 1023); });
const Plant plant_5b("many readers", __FILE__, "race", [](bool right) { run_many_readers(right, 500); });
const Plant plant_5c("many readers", __FILE__, "race", [](bool right) { run_many_readers(right, 0); });

// Neighbouring bytes of one word belong to different threads: no race, but for the last thread's byte.
template <bool right, class T>
__global__ void small_values(float* p) {
  __shared__ T value[64];
  const int t = threadIdx.x;
  value[t] = T(t);                        // fault: small values
  if (!right && t == 5) value[6] = T(7);  // fault: small values
  __syncthreads();
  p[t] = float(value[t]);
}
const Plant plant_6("small values", __FILE__, "byte 6 of the shared array value", [](bool right) {
  DeviceFloats p(64);
  run_one(right, small_values<true, unsigned char>, small_values<false, unsigned char>, {1, 64}, p);
});
const Plant plant_7("small values", __FILE__, "bytes 12 to 13 of", [](bool right) {
  DeviceFloats p(64);
  run_one(right, small_values<true, short>, small_values<false, short>, {1, 64}, p);
});

template <bool right>
__global__ void atomic_then_read(float* p) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);  // fault: atomic then read
  if constexpr (right) __syncthreads();
  if (threadIdx.x == 17) p[0] = float(count);  // fault: atomic then read
}
const Plant plant_8("atomic then read", __FILE__, "Only one of the two is atomic", [](bool right) {
  DeviceFloats p(64);
  run_one(right, atomic_then_read<true>, atomic_then_read<false>, {1, 64}, p);
});

template <bool right>
__global__ void zero_then_atomic(float* p) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;  // fault: zero then atomic
  if constexpr (right) __syncthreads();
  atomicAdd(&count, 1);  // fault: zero then atomic
  __syncthreads();
  p[threadIdx.x] = float(count);
}
const Plant plant_9("zero then atomic", __FILE__, "race", [](bool right) {
  DeviceFloats p(64);
  run_one(right, zero_then_atomic<true>, zero_then_atomic<false>, {1, 64}, p);
});

// The same in dynamic shared memory, and in a helper that is inlined.
__device__ inline float neighbour(const float* tile, int t) { return tile[(t + 1) % 64]; }

template <bool right>
__global__ void dynamic_tile(float* p) {
  DYNAMIC_SHARED(float, tile);
  const int t = threadIdx.x;
  tile[t] = p[t];  // fault: dynamic tile
  if constexpr (right) __syncthreads();
  p[t] = neighbour(tile, t);
}
const Plant plant_10("dynamic tile", __FILE__, "dynamic shared memory (256 bytes)", [](bool right) {
  DeviceFloats p(64);
  run_one(right, dynamic_tile<true>, dynamic_tile<false>, {1, 64, 256}, p);
});

// What a call copies, as of a struct or of a size that only the kernel knows.
template <bool right>
__global__ void copied_by_a_call(float* p, int each) {
  __shared__ float tile[256];
  const int t = threadIdx.x;
  memcpy(&tile[each * t], &p[each * t], each * sizeof(float));  // fault: copied by a call
  if constexpr (right) __syncthreads();
  p[256 + t] = tile[each * (63 - t)];  // fault: copied by a call
}
const Plant plant_11("copied by a call", __FILE__, "race", [](bool right) {
  DeviceFloats p(320);
  run_one(right, copied_by_a_call<true>, copied_by_a_call<false>, {1, 64}, p, 4);
});

}  // namespace
}  // namespace rungs::test
