#include "kernels/launch.cuh"
#include "kernels/rope/rope.hpp"
#include "kernels/rope/rotate.cuh"
#include "kernels/rope/row_in_cache.cuh"

namespace rungs {

/// Rung 1: one thread per pair, x alone. The angles come from a table: made here from the position they would cost two
/// dear functions per pair, and in f32 they would be wrong by much at large positions.
__global__ void rope_thread_per_pair(float* x, RopePointers rotary, const int* position, int N, int H, int D) {
  const int half = D / 2;
  const size_t pair = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pair >= size_t(N) * H * half) return;
  const int i = int(pair % half);
  const size_t head = pair / half;  // of all N · H
  const size_t angle = size_t(position[head / H]) * half + i;
  float* x_h = x + head * D;  // x[n, h, :]

  float a = x_h[i], b = x_h[i + half];
  rotate(a, b, rotary.cos[angle], rotary.sin[angle]);
  x_h[i] = a;
  x_h[i + half] = b;
}

void rope_01(float* x, const RopePointers& rotary, const int* position, int N, int H, int D, cudaStream_t stream) {
  const size_t pairs = size_t(N) * H * (D / 2);
  if (pairs == 0) return;
  constexpr int threads = 256;
  launch(rope_thread_per_pair, {unsigned(ceil_div(pairs, threads)), threads, 0, stream}, x, rotary, position, N, H, D);
}

/// One thread per element of k and v.
__global__ void append_thread_per_element(CacheRows cache, const float* k, const float* v, int N, int width) {
  const size_t element = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= size_t(N) * width) return;
  const int n = int(element / width), i = int(element % width);
  const size_t to = row_in_cache(cache, n, cache.position[n]) * width + i;
  cache.k[to] = k[element];
  cache.v[to] = v[element];
}

void append_01(const CacheRows& cache, const float* k, const float* v, int N, int G, int D, cudaStream_t stream) {
  const size_t elements = size_t(N) * G * D;
  if (elements == 0) return;
  constexpr int threads = 256;
  launch(append_thread_per_element, {unsigned(ceil_div(elements, threads)), threads, 0, stream}, cache, k, v, N, G * D);
}

/// One thread per element of k and v.
__global__ void collect_thread_per_element(float* k, float* v, CacheRows cache, int n, int S, int width) {
  const size_t element = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= size_t(S) * width) return;
  const size_t from = row_in_cache(cache, n, int(element / width)) * width + element % width;
  k[element] = cache.k[from];
  v[element] = cache.v[from];
}

void collect_01(float* k, float* v, const CacheRows& cache, int n, int S, int G, int D, cudaStream_t stream) {
  const size_t elements = size_t(S) * G * D;
  if (elements == 0) return;
  constexpr int threads = 256;
  launch(collect_thread_per_element, {unsigned(ceil_div(elements, threads)), threads, 0, stream}, k, v, cache, n, S,
         G * D);
}

}  // namespace rungs
