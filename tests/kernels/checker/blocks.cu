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

// The last block adds up what all have written. `broken`: 1, the blocks' writes have no fence; 2, the last one has none
// before it reads; 3, the block does not meet before it is counted; 4, every block reads.
template <int broken>
__global__ void last_block(float* p, unsigned* count) {
  __shared__ int last;
  const int t = threadIdx.x, b = blockIdx.x, blocks = gridDim.x;
  p[b * 32 + t] = 1.0f;  // fault: last block 1, last block 2, last block 3, last block 4
  if (broken != 3) __syncthreads();
  if (t == 0) {
    if (broken != 1) __threadfence();
    last = atomicInc(count, blocks - 1) == unsigned(blocks) - 1;
    if (broken != 2) __threadfence();
  }
  __syncthreads();
  if (!last && broken != 4) return;
  float sum = 0.0f;
  for (int i = 0; i < blocks; ++i) sum += p[i * 32 + 31 - t];  // fault: last block 1, last block 2, last block 3
  __syncthreads();
  p[blocks * 32 + b * 32 + t] = sum;
}
template <int broken>
void run_last_block(bool right) {
  DeviceFloats p(8 * 32), count(1);  // the first float is 0, and so are its bits
  run_one(right, last_block<0>, last_block<broken>, {4, 32}, p, count.as<unsigned>());
}
const Plant plant_9("last block 1", __FILE__, "Blocks run in any order", run_last_block<1>);
const Plant plant_10("last block 2", __FILE__, "Blocks run in any order", run_last_block<2>);
const Plant plant_11("last block 3", __FILE__, "Blocks run in any order", run_last_block<3>);
const Plant plant_12("last block 4", __FILE__, "Blocks run in any order", run_last_block<4>);

// One thread a block, so that nobody has to meet; the value goes on through two blocks.
template <bool right>
__global__ void handed_on(float* p, unsigned* turn) {
  p[blockIdx.x] = 2.0f;  // fault: handed on
  if constexpr (right) __threadfence();
  const unsigned before = atomicAdd(turn, 1u);
  __threadfence();
  if (before == 3) p[4] = p[0] + p[1] + p[2] + p[3];  // fault: handed on
}
const Plant plant_13("handed on", __FILE__, "Blocks run in any order", [](bool right) {
  DeviceFloats p(5), turn(1);
  run_one(right, handed_on<true>, handed_on<false>, {4, 1}, p, turn.as<unsigned>());
});

}  // namespace
}  // namespace rungs::test
