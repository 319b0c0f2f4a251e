// Faults between the lanes of a warp.
#include "checker/faults.hpp"

namespace rungs::test {
namespace {

constexpr unsigned all_lanes = 0xffffffffu;

template <bool right>
__global__ void missing_syncwarp(float* p) {
  __shared__ float tile[32];
  const int t = threadIdx.x;
  tile[t] = p[t];  // fault: missing syncwarp
  if constexpr (right) __syncwarp();
  p[t] = tile[31 - t];  // fault: missing syncwarp
}
const Plant plant_1("missing syncwarp", __FILE__, "a __syncwarp() or __syncthreads() is missing", [](bool right) {
  DeviceFloats p(32);
  run_one(right, missing_syncwarp<true>, missing_syncwarp<false>, {1, 32}, p);
});

// Each half of the warp meets for itself; the broken kernel reads across.
template <bool right>
__global__ void half_mask(float* p) {
  __shared__ float tile[32];
  const int t = threadIdx.x;
  tile[t] = p[t];  // fault: half mask
  __syncwarp(t < 16 ? 0x0000ffffu : 0xffff0000u);
  p[t] = tile[right ? t ^ 1 : t ^ 16];  // fault: half mask
}
const Plant plant_2("half mask", __FILE__, "race", [](bool right) {
  DeviceFloats p(32);
  run_one(right, half_mask<true>, half_mask<false>, {1, 32}, p);
});

template <bool right>
__global__ void two_warps(float* p) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  tile[t] = p[t];  // fault: two warps
  if constexpr (right) {
    __syncthreads();
  } else {
    __syncwarp();
  }
  p[t] = tile[63 - t];  // fault: two warps
}
const Plant plant_4("two warps", __FILE__, ". Nothing orders the two: a __syncthreads() is missing", [](bool right) {
  DeviceFloats p(64);
  run_one(right, two_warps<true>, two_warps<false>, {1, 64}, p);
});

// A shuffle waits for its lanes, but promises nothing about memory.
template <bool right>
__global__ void shuffle_is_no_barrier(float* p) {
  __shared__ float tile[32];
  const int t = threadIdx.x;
  tile[t] = p[t];  // fault: shuffle is no barrier
  const float first = __shfl_sync(all_lanes, p[t], 0);
  if constexpr (right) __syncwarp();
  p[t] = first + tile[31 - t];  // fault: shuffle is no barrier
}
const Plant plant_5("shuffle is no barrier", __FILE__, "race", [](bool right) {
  DeviceFloats p(32);
  run_one(right, shuffle_is_no_barrier<true>, shuffle_is_no_barrier<false>, {1, 32}, p);
});

// Lanes that all read what one of them then overwrites.
template <bool right>
__global__ void lanes_read_once(float* p) {
  __shared__ float value;
  const int t = threadIdx.x;
  if (t == 0) value = p[0];
  __syncwarp();
  p[t] = value;  // fault: lanes read once
  if constexpr (right) __syncwarp();
  if (t == 13) value = 5.0f;  // fault: lanes read once
}
const Plant plant_6("lanes read once", __FILE__, "race", [](bool right) {
  DeviceFloats p(32);
  run_one(right, lanes_read_once<true>, lanes_read_once<false>, {1, 32}, p);
});

// Two of the readers meet; the others do not, and one of the two writes.
template <bool right>
__global__ void two_met(float* p) {
  __shared__ float value;
  const int t = threadIdx.x;
  if (t == 0) value = p[0];
  __syncthreads();
  p[t] = value;  // fault: two met
  if (right) {
    __syncwarp();
  } else if (t >= 30) {
    __syncwarp(0xc0000000u);
  }
  if (t == 30) value = 5.0f;  // fault: two met
}
const Plant plant_10("two met", __FILE__, "race", [](bool right) {
  DeviceFloats p(32);
  run_one(right, two_met<true>, two_met<false>, {1, 32}, p);
});

// All read, meet, and one reads again.
template <bool right>
__global__ void read_again(float* p) {
  __shared__ float value;
  const int t = threadIdx.x;
  if (t == 0) value = p[0];
  __syncthreads();
  p[t] = value;
  __syncwarp();
  if (t == 5) p[32] = value;  // fault: read again
  if constexpr (right) __syncwarp();
  if (t == 7) value = 5.0f;  // fault: read again
}
const Plant plant_11("read again", __FILE__, "race", [](bool right) {
  DeviceFloats p(33);
  run_one(right, read_again<true>, read_again<false>, {1, 32}, p);
});

// Who writes may read; another may not, though it comes after that read.
template <bool right>
__global__ void after_the_writer(float* p) {
  __shared__ float value;
  const int t = threadIdx.x;
  if (t == 3) {
    value = p[3];  // fault: after the writer
    p[32] = value;
  }
  if constexpr (right) __syncwarp();
  if (t == 4) p[33] = value;  // fault: after the writer
}
const Plant plant_12("after the writer", __FILE__, "race", [](bool right) {
  DeviceFloats p(34);
  run_one(right, after_the_writer<true>, after_the_writer<false>, {1, 32}, p);
});

template <bool right>
__global__ void after_the_atomic(float* p) {
  __shared__ int count;
  const int t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  if (t == 3) {
    atomicAdd(&count, 1);  // fault: after the atomic
    p[32] = float(count);
  }
  if constexpr (right) __syncwarp();
  if (t == 4) p[33] = float(count);  // fault: after the atomic
}
const Plant plant_13("after the atomic", __FILE__, "Only one of the two is atomic", [](bool right) {
  DeviceFloats p(34);
  run_one(right, after_the_atomic<true>, after_the_atomic<false>, {1, 32}, p);
});

template <bool right>
__global__ void wrong_mask(float* p) {
  const int t = threadIdx.x;
  p[t] = __shfl_sync(right ? all_lanes : 0x0000ffffu, p[t], 0);  // fault: wrong mask
}
const Plant plant_7("wrong mask", __FILE__, "mask", [](bool right) {
  DeviceFloats p(32);
  run_one(right, wrong_mask<true>, wrong_mask<false>, {1, 32}, p);
});

template <bool right>
__global__ void lane_left(float* p, int n) {
  const int t = threadIdx.x;
  if (!right && t >= n) return;
  const float mine = t < n ? p[t] : 0.0f;
  const float sum = mine + __shfl_xor_sync(all_lanes, mine, 16);  // fault: lane left
  if (t < n) p[t] = sum;
}
const Plant plant_8("lane left", __FILE__, "__shfl_xor_sync", [](bool right) {
  DeviceFloats p(32);
  run_one(right, lane_left<true>, lane_left<false>, {1, 32}, p, 20);
});

template <bool right>
__global__ void two_shuffles(float* p) {
  const int t = threadIdx.x;
  float value = p[t];
  if (right || t % 2) {
    value += __shfl_xor_sync(all_lanes, value, 1);  // fault: two shuffles
  } else {
    value += __shfl_down_sync(all_lanes, value, 1);  // fault: two shuffles
  }
  p[t] = value;
}
const Plant plant_9("two shuffles", __FILE__, "__shfl_", [](bool right) {
  DeviceFloats p(32);
  run_one(right, two_shuffles<true>, two_shuffles<false>, {1, 32}, p);
});

}  // namespace
}  // namespace rungs::test
