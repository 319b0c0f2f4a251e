#include <cstring>

#include "host_kernels.hpp"

namespace rungs::test {

__global__ void add_scalar(float* x, float value) { x[blockIdx.x * blockDim.x + threadIdx.x] += value; }

__global__ void loop_for_ever(volatile float* x, Loop kind) {
  while (true) {
    if (kind == Loop::barrier) __syncthreads();
    if (kind == Loop::shuffle) __shfl_xor_sync(0xffffffffu, 1, 1);
    if (kind == Loop::one_thread && threadIdx.x != 5) {
      __syncthreads();
      return;
    }
    if (kind == Loop::library) std::memset(const_cast<float*>(x), 0, size_t(64) << 20);
    x[threadIdx.x] = 1;
  }
}

__global__ void write_at(float* x) { x[threadIdx.x] = 1; }

__global__ void divide(int* x, int by) { x[threadIdx.x] = 7 / by; }

__global__ void copy_float4(float* out, const float* x) {
  reinterpret_cast<float4*>(out)[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];
}

bool copies_float4_at_once() {
#ifdef __OPTIMIZE__
  return true;
#else
  return false;
#endif
}

__global__ void use_stack(float* x, int n) {
  volatile float large[40000];
  for (int i = 0; i < n; i += 100) large[i] = x[0];
  x[threadIdx.x] = large[threadIdx.x * 100];
}

__global__ void load_float4(float* out, const float* x) {
  out[threadIdx.x] = __ldg(reinterpret_cast<const float4*>(x) + threadIdx.x).x;
}

__global__ void launch_inside(float* x) { launch(add_scalar, {1, 1}, x, 1.0f); }

}  // namespace rungs::test
