#include "host_kernels.hpp"

namespace rungs::test {

constexpr unsigned all = 0xffffffffu;

__global__ void shuffle(int* out, const int* x, int kind, int parameter, int width) {
  const int i = int(threadIdx.x);
  if (kind == 0) out[i] = __shfl_sync(all, x[i], parameter, width);
  if (kind == 1) out[i] = __shfl_up_sync(all, x[i], unsigned(parameter), width);
  if (kind == 2) out[i] = __shfl_down_sync(all, x[i], unsigned(parameter), width);
  if (kind == 3) out[i] = __shfl_xor_sync(all, x[i], parameter, width);
}

template <class T>
__global__ void shuffle_down(T* out, const T* x) {
  out[threadIdx.x] = __shfl_down_sync(all, x[threadIdx.x], 1);
}
template __global__ void shuffle_down(double*, const double*);
template __global__ void shuffle_down(long long*, const long long*);
template __global__ void shuffle_down(__half*, const __half*);

__global__ void vote(unsigned* out, unsigned yes, unsigned mask) {
  if (!(mask >> threadIdx.x & 1)) return;
  const bool mine = yes >> threadIdx.x & 1;
  unsigned* results = out + 3 * threadIdx.x;
  results[0] = __ballot_sync(mask, mine);
  results[1] = unsigned(__any_sync(mask, mine));
  results[2] = unsigned(__all_sync(mask, mine));
}

__global__ void match(unsigned* out, const int* x) { out[threadIdx.x] = __match_any_sync(all, x[threadIdx.x]); }

__global__ void reduce(int* out, const int* x) {
  const int mine = x[threadIdx.x];
  int* results = out + 9 * threadIdx.x;
  results[0] = __reduce_add_sync(all, mine);
  results[1] = __reduce_min_sync(all, mine);
  results[2] = __reduce_max_sync(all, mine);
  results[3] = int(__reduce_min_sync(all, unsigned(mine)));
  results[4] = int(__reduce_max_sync(all, unsigned(mine)));
  results[5] = int(__reduce_and_sync(all, unsigned(mine)));
  results[6] = int(__reduce_or_sync(all, unsigned(mine)));
  results[7] = int(__reduce_xor_sync(all, unsigned(mine)));
  results[8] = int(__reduce_add_sync(all, unsigned(mine)));
}

__global__ void shuffle_in_half(int* out) {
  const int lane = int(threadIdx.x);
  if (lane < 16)
    out[lane] = __shfl_sync(0xffffu, lane, 20);  // lane 20 takes no part
  else
    out[lane] = __shfl_xor_sync(0xffff0000u, lane, 1);
}

__global__ void shuffle_without_self() { __shfl_sync(0xffffu, 1, 0); }

__global__ void shuffle_two_kinds() {
  if (threadIdx.x & 1)
    __shfl_xor_sync(all, 1, 1);
  else
    __shfl_down_sync(all, 1, 1);
}

__global__ void shuffle_two_types() {
  if (threadIdx.x & 1)
    __shfl_xor_sync(all, 1, 1);
  else
    __shfl_xor_sync(all, 1.0, 1);
}

__global__ void shuffle_two_masks() { __shfl_xor_sync(threadIdx.x ? all : 0x7fffffffu, 1, 1); }

__global__ void shuffle_after_return() {
  if (threadIdx.x == 37) return;
  __shfl_xor_sync(all, 1, 1);
}

__global__ void count_atomically(int* ints, float* floats, unsigned* unsigneds, double* doubles) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&ints[0], i);
  atomicSub(&ints[1], 1);
  atomicMax(&ints[2], i);
  atomicMin(&ints[3], -i);
  atomicExch(&ints[4], 5);
  atomicAdd(&floats[0], 0.5f);
  atomicAdd(&doubles[0], 0.25);
  atomicOr(&unsigneds[0], 1u << i % 32);
  atomicAnd(&unsigneds[1], ~(1u << i % 16));
  atomicXor(&unsigneds[2], 1u << i % 2);
  atomicInc(&unsigneds[3], 9);
  atomicDec(&unsigneds[4], 9);
}

__global__ void claim_once(int* owner, int* winners) {
  if (atomicCAS(owner, -1, int(blockIdx.x)) == -1) atomicAdd(winners, 1);
}

}  // namespace rungs::test
