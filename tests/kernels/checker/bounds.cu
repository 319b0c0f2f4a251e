// Accesses to what a kernel may not touch.
#include <memory>

#include "checker/faults.hpp"

namespace rungs::test {
namespace {

template <bool right>
__global__ void at_the_end(float* p, int n) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (right ? i < n : i <= n) p[i] = 1.0f;  // fault: at the end
}
const Plant plant_1("at the end", __FILE__, "0 bytes after the end of an allocation of 4000 bytes", [](bool right) {
  DeviceFloats p(1000);
  run_one(right, at_the_end<true>, at_the_end<false>, {8, 128}, p, 1000);
});

/// What stood above it was freed, and an index is off by more than the array, as a row's may be.
template <bool right>
__global__ void far_after_the_end(float* p) {
  const int t = threadIdx.x;
  p[right ? t : t + 3000] = 1.0f;  // fault: far after the end
}
const Plant plant_1b("far after the end", __FILE__, "after the end of an allocation of 256 bytes", [](bool right) {
  auto above = std::make_unique<DeviceFloats>(100'000);
  DeviceFloats p(64);
  above.reset();
  run_one(right, far_after_the_end<true>, far_after_the_end<false>, {1, 64}, p);
});

template <bool right>
__global__ void before_the_begin(float* p) {
  const int t = threadIdx.x;
  const float left = right && t == 0 ? 0.0f : p[t - 1];  // fault: before the begin
  __syncthreads();
  p[t] = left;
}
const Plant plant_2("before the begin", __FILE__, "4 bytes before the begin of", [](bool right) {
  DeviceFloats p(64);
  run_one(right, before_the_begin<true>, before_the_begin<false>, {1, 64}, p);
});

template <bool right>
__global__ void over_the_end(float* p) {
  const float4 four = *reinterpret_cast<const float4*>(p + (right ? 4 : 8));  // fault: over the end
  __syncthreads();
  if (threadIdx.x == 0) p[0] = four.x;
}
const Plant plant_3("over the end", __FILE__, "run over the end of an allocation of 40 bytes", [](bool right) {
  DeviceFloats p(10);
  run_one(right, over_the_end<true>, over_the_end<false>, {1, 32}, p);
});

template <bool right>
__global__ void static_shared(float* p, int shift) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  tile[right ? (t + shift) % 64 : t + shift] = 1.0f;  // fault: static shared
  __syncthreads();
  p[t] = tile[t];
}
const Plant plant_4("static shared", __FILE__, "index 64 of an array", [](bool right) {
  DeviceFloats p(64);
  run_one(right, static_shared<true>, static_shared<false>, {1, 64}, p, 1);
});

template <bool right>
__global__ void dynamic_shared(float* p) {
  DYNAMIC_SHARED(float, tile);
  const int t = threadIdx.x;
  tile[right ? t : t + 1] = 1.0f;  // fault: dynamic shared
  __syncthreads();
  p[t] = right ? tile[t] : 0.0f;
}
const Plant plant_5("dynamic shared", __FILE__, "0 bytes after the end of dynamic shared memory", [](bool right) {
  DeviceFloats p(64);
  run_one(right, dynamic_shared<true>, dynamic_shared<false>, {1, 64, 256}, p);
});
const Plant plant_6("no dynamic shared", __FILE__, "dynamic shared memory", [](bool right) {
  DeviceFloats p(64);
  launch(dynamic_shared<true>, {1, 64, right ? size_t(256) : 0}, p);
});

template <bool right>
__global__ void local_array(float* p, int last) {
  float sums[4] = {};
  for (int i = 0; i <= last; ++i) sums[i] += p[threadIdx.x];  // fault: local array
  p[threadIdx.x] = sums[0] + sums[3];
}
const Plant plant_7("local array", __FILE__, "index 4 of an array", [](bool right) {
  DeviceFloats p(64);
  run_one(right, local_array<true>, local_array<false>, {1, 64}, p, right ? 3 : 4);
});

__global__ void copy(float* p, const float* q) {
  p[threadIdx.x] = q[threadIdx.x];  // fault: host pointer, host variable, freed, null
}
const Plant plant_8("host pointer", __FILE__, "A pointer to host memory", [](bool right) {
  DeviceFloats p(64), q(64);
  const std::vector<float> host(1 << 20);  // so large that it lies far from all else
  launch(copy, {1, 64}, p, right ? q : host.data());
});
const Plant plant_9("host variable", __FILE__, "A pointer to host memory", [](bool right) {
  DeviceFloats p(64), q(64);
  const float host[64] = {};
  launch(copy, {1, 64}, p, right ? q : host);
});
const Plant plant_10("freed", __FILE__, "given to cudaFree", [](bool right) {
  DeviceFloats p(64), other(64);
  const float* gone = DeviceFloats(64);
  launch(copy, {1, 64}, p, right ? other : gone);
});
const Plant plant_11("null", __FILE__, "null pointer", [](bool right) {
  DeviceFloats p(64), q(64);
  launch(copy, {1, 64}, p, right ? static_cast<float*>(q) : nullptr);
});

template <bool right, class Vector>
__global__ void vectors(float* p) {
  __shared__ __align__(16) float tile[256];
  for (int i = threadIdx.x; i < 256; i += 32) tile[i] = 1.0f;
  __syncthreads();
  const float* from = tile + (right ? 0 : 1);
  const Vector v = reinterpret_cast<const Vector*>(from)[threadIdx.x];  // fault: misaligned shared
  p[threadIdx.x] = v.x;
}
const Plant plant_12("misaligned shared", __FILE__, "misaligned", [](bool right) {
  DeviceFloats p(64);
  run_one(right, vectors<true, float2>, vectors<false, float2>, {1, 32}, p);
  run_one(right, vectors<true, float4>, vectors<false, float4>, {1, 32}, p);
});

__global__ void float4_sum(float* out, const float* p) {
  const float4 v = *reinterpret_cast<const float4*>(p + 4 * threadIdx.x);  // fault: misaligned float4
  out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
const Plant plant_13("misaligned float4", __FILE__, "misaligned", [](bool right) {
  DeviceFloats p(64), q(256);
  launch(float4_sum, {1, 32}, p, right ? q : q + 1);
});

template <bool right>
__global__ void local_of_another(float* p) {
  __shared__ float* pointers[32];
  __shared__ float values[32];
  const int t = threadIdx.x;
  float mine[2] = {p[t], 0.0f};
  pointers[t] = right ? &values[t] : mine;
  values[t] = p[t];
  __syncthreads();
  pointers[(t + 1) % 32][0] = 2.0f;  // fault: local of another
  __syncthreads();
  p[t] = mine[0] + *pointers[t];
}
const Plant plant_14("local of another", __FILE__, "local memory of another thread", [](bool right) {
  DeviceFloats p(32);
  run_one(right, local_of_another<true>, local_of_another<false>, {1, 32}, p);
});

// By a call, and not by the kernel's own instructions.
template <bool right>
__global__ void copied_too_far(float* p, int count) {
  const int t = threadIdx.x;
  memcpy(&p[16 * t], &p[512], (right ? count : count + 1) * sizeof(float));  // fault: copied too far
}
const Plant plant_15("copied too far", __FILE__, "out of bounds", [](bool right) {
  DeviceFloats p(528);
  run_one(right, copied_too_far<true>, copied_too_far<false>, {1, 32}, p, 16);
});

}  // namespace
}  // namespace rungs::test
