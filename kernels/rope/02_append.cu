#include "kernels/launch.cuh"
#include "kernels/overlap.cuh"
#include "kernels/rope/rope.hpp"
#include "kernels/rope/rotate.cuh"
#include "kernels/rope/row_in_cache.cuh"

namespace rungs {

/// Where the heads of a row come from: row n of q begins at q + n · q_stride, of k and v at k, v + n · kv_stride.
struct QkvRows {
  const float *q, *k, *v;
  int q_stride, kv_stride;
};

/// Rung 2: one launch for all that stands between the projections and attention. A thread turns one pair of a head of q
/// or k, or copies two elements of v; k and v go straight into the cache, so k is neither written in between nor read
/// again. blocks: of each row.
__global__ void rope_append(float* q, CacheRows cache, QkvRows from, RopePointers rotary, int H, int G, int D,
                            int blocks) {
  let_next_kernel_begin();
  wait_for_earlier_kernels();
  const int half = D / 2;
  const int n = int(blockIdx.x) / blocks;
  const int pair = int(blockIdx.x) % blocks * int(blockDim.x) + int(threadIdx.x);
  if (pair >= (H + 2 * G) * half) return;
  const int head = pair / half, i = pair % half;
  const int position = cache.position[n];
  const size_t row = row_in_cache(cache, n, position);

  const float* in;  // the head, (D)
  float* out;       // where it goes, (D)
  if (head < H) {
    in = from.q + size_t(n) * from.q_stride + head * D;
    out = q + (size_t(n) * H + head) * D;
  } else if (head < H + G) {
    in = from.k + size_t(n) * from.kv_stride + (head - H) * D;
    out = cache.k + (row * G + (head - H)) * D;
  } else {
    in = from.v + size_t(n) * from.kv_stride + (head - H - G) * D;
    out = cache.v + (row * G + (head - H - G)) * D;
  }

  float a = in[i], b = in[i + half];
  if (head < H + G) {
    const size_t angle = size_t(position) * half + i;
    rotate(a, b, rotary.cos[angle], rotary.sin[angle]);
  }
  out[i] = a;
  out[i + half] = b;
}

static void launch_append(float* q, const CacheRows& cache, const QkvRows& from, const RopePointers& rotary, int N,
                          int H, int G, int D, cudaStream_t stream) {
  const int pairs = (H + 2 * G) * (D / 2);  // of a row
  if (N == 0 || pairs == 0) return;
  constexpr int threads = 256;
  const int blocks = ceil_div(pairs, threads);
  launch(rope_append, {unsigned(N) * blocks, threads, 0, stream, /*overlap=*/true}, q, cache, from, rotary, H, G, D,
         blocks);
}

void rope_02_append(float* q, const CacheRows& cache, const float* k, const float* v, const RopePointers& rotary, int N,
                    int H, int G, int D, cudaStream_t stream) {
  launch_append(q, cache, {q, k, v, H * D, G * D}, rotary, N, H, G, D, stream);
}

void rope_02_append_qkv(float* q, const CacheRows& cache, const float* qkv, const RopePointers& rotary, int N, int H,
                        int G, int D, cudaStream_t stream) {
  const int stride = (H + 2 * G) * D;
  launch_append(q, cache, {qkv, qkv + H * D, qkv + (H + G) * D, stride, stride}, rotary, N, H, G, D, stream);
}

}  // namespace rungs
