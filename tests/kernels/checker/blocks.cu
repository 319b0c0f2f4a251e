// Faults of a block's barriers, and races on device memory: inside of a block and between blocks.
#include "checker/faults.hpp"

namespace rungs::test {
namespace {

template <bool right>
__global__ void divergent_barrier(float* p) {
  const int t = threadIdx.x;
  if (right || t < 7) {
    p[t] = 1.0f;
    __syncthreads();  // fault: divergent barrier
  } else {
    __syncthreads();  // fault: divergent barrier
  }
}
const Plant plant_1("divergent barrier", __FILE__, "__syncthreads()", [](bool right) {
  DeviceFloats p(64);
  run_one(right, divergent_barrier<true>, divergent_barrier<false>, {1, 64}, p);
});

template <bool right>
__global__ void early_exit(float* p, int n) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  if (!right && t >= n) return;
  tile[t] = 1.0f;
  __syncthreads();  // fault: early exit
  if (t < n) p[t] = tile[n - 1 - t];
}
const Plant plant_2("early exit", __FILE__, "__syncthreads()", [](bool right) {
  DeviceFloats p(64);
  run_one(right, early_exit<true>, early_exit<false>, {1, 64}, p, 60);
});

template <bool right>
__global__ void sum_of_all(float* p) {
  if constexpr (right) {
    atomicAdd(&p[0], 1.0f);
  } else {
    p[0] += 1.0f;  // fault: sum of all
  }
}
const Plant plant_3("sum of all", __FILE__, "race", [](bool right) {
  DeviceFloats p(1);
  run_one(right, sum_of_all<true>, sum_of_all<false>, {1, 64}, p);
});
const Plant plant_4("sum of all", __FILE__, "in the same launch. Blocks run in any order", [](bool right) {
  DeviceFloats p(1);
  run_one(right, sum_of_all<true>, sum_of_all<false>, {4, 1}, p);
});

template <bool right>
__global__ void through_device_memory(float* p) {
  const int t = threadIdx.x;
  p[t] = 2.0f;  // fault: through device memory
  if constexpr (right) __syncthreads();
  p[64 + t] = p[63 - t];  // fault: through device memory
}
const Plant plant_5("through device memory", __FILE__, "an allocation of 512 bytes", [](bool right) {
  DeviceFloats p(128);
  run_one(right, through_device_memory<true>, through_device_memory<false>, {1, 64}, p);
});

template <bool right>
__global__ void next_block(float* p) {
  const int b = blockIdx.x;
  p[b] = 1.0f;                        // fault: next block
  if (!right && b == 0) p[8] = p[2];  // fault: next block
}
const Plant plant_6("next block", __FILE__, "block (", [](bool right) {
  DeviceFloats p(9);
  run_one(right, next_block<true>, next_block<false>, {4, 1}, p);
});

// Both blocks read; then the second writes, after a barrier of its own, which orders nothing in the first.
template <bool right>
__global__ void read_then_write(float* p) {
  const int b = blockIdx.x;
  p[1 + b] = p[0];  // fault: read then write
  __syncthreads();
  if (!right && b == 1) p[0] = 3.0f;  // fault: read then write
}
const Plant plant_7("read then write", __FILE__, "Blocks run in any order", [](bool right) {
  DeviceFloats p(3);
  run_one(right, read_then_write<true>, read_then_write<false>, {2, 1}, p);
});

template <bool right>
__global__ void atomic_and_plain(float* p) {
  if (blockIdx.x % 2 || right) {
    atomicAdd(&p[0], 1.0f);  // fault: atomic and plain
  } else {
    p[0] = 1.0f;  // fault: atomic and plain
  }
}
const Plant plant_8("atomic and plain", __FILE__, "Only one of the two is atomic", [](bool right) {
  DeviceFloats p(1);
  run_one(right, atomic_and_plain<true>, atomic_and_plain<false>, {2, 1}, p);
});

}  // namespace
}  // namespace rungs::test
