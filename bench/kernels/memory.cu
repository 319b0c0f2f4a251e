// Random numbers, and the copies and reads that show what the memory gives.
#include "kernels/gemv/chunks.cuh"
#include "memory.hpp"

namespace rungs::bench {

namespace {

__device__ void store(float* out, float x) { *out = x; }
__device__ void store(bf16* out, float x) { out->bits = uint16_t(__float_as_uint(x) >> 16); }
__device__ void store(int8_t* out, float x) { *out = int8_t(x); }

/// SplitMix64: Steele, Lea, Flood 2014, "Fast Splittable Pseudorandom Number Generators".
template <class T>
__global__ void uniform(T* out, size_t count, uint64_t seed, float middle, float spread) {
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    store(out + i, middle + spread * (float((z ^ z >> 31) >> 40) * 0x1p-23f - 1.0f));
  }
}

/// Each thread copies `each` pieces of 16 bytes, all read before one is written.
template <int each>
__global__ void copy(float4* out, const float4* in, size_t count) {
  const size_t first = size_t(blockIdx.x) * blockDim.x * each + threadIdx.x;
  float4 piece[each];
#pragma unroll
  for (int i = 0; i < each; ++i)
    if (first + i * blockDim.x < count) piece[i] = in[first + i * blockDim.x];
#pragma unroll
  for (int i = 0; i < each; ++i)
    if (first + i * blockDim.x < count) out[first + i * blockDim.x] = piece[i];
}

constexpr int threads = 256;

/// The sum of all words that a thread reads, pieces of 16 bytes, `each` of them on their way before the first is added.
template <int each, bool past_l1>
__global__ void read(uint32_t* sum, const uint4* in, size_t count) {
  const size_t step = size_t(gridDim.x) * blockDim.x, thread = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  uint32_t all = 0;
  for (size_t first = thread; first < count; first += step * each) {
    uint4 piece[each] = {};
#pragma unroll
    for (int i = 0; i < each; ++i)
      if (first + i * step < count) piece[i] = past_l1 ? load_past_l1(in + first + i * step) : in[first + i * step];
#pragma unroll
    for (int i = 0; i < each; ++i) all += piece[i].x + piece[i].y + piece[i].z + piece[i].w;
  }
  sum[thread] = all;
}

template <int each>
void launch_read(uint32_t* sum, const void* in, size_t count, bool past_l1, cudaStream_t stream) {
  const LaunchShape shape{dim3(unsigned(read_threads / threads)), dim3(threads), 0, stream};
  launch(past_l1 ? read<each, true> : read<each, false>, shape, sum, static_cast<const uint4*>(in), count);
}

template <int each>
void launch_copy(void* out, const void* in, size_t count, cudaStream_t stream) {
  launch(copy<each>, {dim3(unsigned(ceil_div(count, each * threads))), dim3(threads), 0, stream},
         static_cast<float4*>(out), static_cast<const float4*>(in), count);
}

}  // namespace

template <class T>
void fill_uniform(T* out, size_t count, uint64_t seed, float middle, float spread, cudaStream_t stream) {
  const unsigned blocks = unsigned(ceil_div(count, 16 * threads));  // each thread fills up to 16 at least
  launch(uniform<T>, {dim3(blocks < 65535 ? blocks : 65535), dim3(threads), 0, stream}, out, count, seed, middle,
         spread);
}
template void fill_uniform(float*, size_t, uint64_t, float, float, cudaStream_t);
template void fill_uniform(bf16*, size_t, uint64_t, float, float, cudaStream_t);
template void fill_uniform(int8_t*, size_t, uint64_t, float, float, cudaStream_t);

void copy_16_bytes(void* out, const void* in, size_t count, int each, cudaStream_t stream) {
  if (each == 1) return launch_copy<1>(out, in, count, stream);
  if (each == 2) return launch_copy<2>(out, in, count, stream);
  return launch_copy<4>(out, in, count, stream);
}

void read_16_bytes(uint32_t* sum, const void* in, size_t count, int each, bool past_l1, cudaStream_t stream) {
  if (each == 2) return launch_read<2>(sum, in, count, past_l1, stream);
  if (each == 4) return launch_read<4>(sum, in, count, past_l1, stream);
  return launch_read<8>(sum, in, count, past_l1, stream);
}

}  // namespace rungs::bench
