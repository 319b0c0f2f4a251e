// Reads of what nobody has written.
#include "checker/faults.hpp"

namespace rungs::test {
namespace {

template <bool right>
__global__ void half_filled(float* p) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  if (right || t < 32) tile[t] = 1.0f;
  __syncthreads();
  p[t] = tile[t];  // fault: half filled
}
const Plant plant_1("half filled", __FILE__, "no thread of the block has written it", [](bool right) {
  DeviceFloats p(64);
  run_one(right, half_filled<true>, half_filled<false>, {1, 64}, p);
});

template <bool right>
__global__ void sum_from_nothing(float* p) {
  DYNAMIC_SHARED(float, sums);
  const int t = threadIdx.x;
  if constexpr (right) sums[t] = 0.0f;
  for (int i = 0; i < 4; ++i) sums[t] += p[t];  // fault: sum from nothing
  __syncthreads();
  p[t] = sums[t];
}
const Plant plant_2("sum from nothing", __FILE__, "uninitialised shared memory", [](bool right) {
  DeviceFloats p(64);
  run_one(right, sum_from_nothing<true>, sum_from_nothing<false>, {1, 64, 256}, p);
});

template <bool right>
__global__ void count_from_nothing(float* p) {
  __shared__ int count;
  if (right && threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);  // fault: count from nothing
  __syncthreads();
  p[threadIdx.x] = float(count);
}
const Plant plant_3("count from nothing", __FILE__, "uninitialised shared memory", [](bool right) {
  DeviceFloats p(64);
  run_one(right, count_from_nothing<true>, count_from_nothing<false>, {1, 64}, p);
});

// Shared memory does not outlive its block.
template <bool right>
__global__ void first_block_fills(float* p) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  if (right || blockIdx.x == 0) tile[t] = 1.0f;
  __syncthreads();
  p[blockIdx.x * 64 + t] = tile[t];  // fault: first block fills
}
const Plant plant_4("first block fills", __FILE__, "uninitialised shared memory", [](bool right) {
  DeviceFloats p(128);
  run_one(right, first_block_fills<true>, first_block_fills<false>, {2, 64}, p);
});

__global__ void double_it(float* out, const float* p) {
  out[threadIdx.x] = 2.0f * p[threadIdx.x];  // fault: fresh memory, partly copied
}
const Plant plant_5("fresh memory", __FILE__, "neither a kernel nor a copy has written it", [](bool right) {
  DeviceFloats out(64), p(64, false);
  if (right) CUDA_CHECK(cudaMemset(p, 0, 256));
  launch(double_it, {1, 64}, out, p);
});
const Plant plant_6("partly copied", __FILE__, "bytes 252 to 255", [](bool right) {
  DeviceFloats out(64), p(64, false), q(64);
  CUDA_CHECK(cudaMemcpy(p, q, right ? 256 : 252, cudaMemcpyDeviceToDevice));
  launch(double_it, {1, 64}, out, p);
});

__global__ void fours(float* out, const float* p) {
  const float4 four = reinterpret_cast<const float4*>(p)[threadIdx.x];  // fault: first bytes, last bytes
  reinterpret_cast<float4*>(out)[threadIdx.x] = four;
}
const Plant plant_7("last bytes", __FILE__, "bytes 240 to 255", [](bool right) {
  DeviceFloats out(64), p(64, false);
  CUDA_CHECK(cudaMemset(p, 0, right ? 256 : 252));
  launch(fours, {1, 16}, out, p);
});
const Plant plant_8("first bytes", __FILE__, "bytes 0 to 15", [](bool right) {
  DeviceFloats out(64), p(64, false);
  CUDA_CHECK(cudaMemset(right ? p : p + 1, 0, 252));
  if (right) CUDA_CHECK(cudaMemset(p + 63, 0, 4));
  launch(fours, {1, 16}, out, p);
});

}  // namespace
}  // namespace rungs::test
