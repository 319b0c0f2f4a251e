#include <cmath>

#include "18_cuda_reduce/lesson.hpp"
#include "kernels/warp.cuh"
#include "lesson.hpp"

namespace lesson_19 {

constexpr int warp_size = 32;
constexpr int most_each = 256 / warp_size;  // elements of a head that one lane looks after

/// The sum of a[d] · b[d], in every lane of the warp.  a, b: (D)
__device__ float warp_dot(const float* a, const float* b, int D) {
  float sum = 0;
  for (int d = threadIdx.x % warp_size; d < D; d += warp_size) sum += a[d] * b[d];
  return warp_sum(sum);
}

/// One thread for each score.  scores: (H, T, S); q: (T, H, D); k: (S, G, D)
__global__ void scores_kernel(float* scores, const float* q, const float* k, AttentionShape n) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y, h = blockIdx.z;
  if (s >= n.S) return;
  // >>> scores[h, t, s] = q[t, h] · k[s, h / (H / G)] / √D, or -∞ where key s comes after query t
  const float* q_t = q + (size_t(t) * n.H + h) * n.D;                // q[t, h, :]
  const float* k_s = k + (size_t(s) * n.G + h / (n.H / n.G)) * n.D;  // k[s, g, :]
  float sum = 0;
  for (int d = 0; d < n.D; ++d) sum += q_t[d] * k_s[d];
  scores[(size_t(h) * n.T + t) * n.S + s] = s <= n.S - n.T + t ? sum / sqrtf(float(n.D)) : -INFINITY;
  // <<<
}

/// A block for each query and head, a thread for some of the elements.  out: (T, H, D); weights: (H, T, S)
__global__ void weigh_kernel(float* out, const float* weights, const float* v, AttentionShape n) {
  const int t = blockIdx.x, h = blockIdx.y;
  const float* weights_t = weights + (size_t(h) * n.T + t) * n.S;  // weights[h, t, :]
  for (int d = threadIdx.x; d < n.D; d += blockDim.x) {
    float sum = 0;
    // >>> sum = Σ over the keys of weights[h, t, s] · v[s, h / (H / G), d]
    for (int s = 0; s < n.S; ++s) sum += weights_t[s] * v[(size_t(s) * n.G + h / (n.H / n.G)) * n.D + d];
    // <<<
    out[(size_t(t) * n.H + h) * n.D + d] = sum;
  }
}

void attention_naive(float* out, float* scores, const float* q, const float* k, const float* v, AttentionShape n,
                     cudaStream_t stream) {
  launch(scores_kernel, {dim3(ceil_div(n.S, 128), n.T, n.H), 128, 0, stream}, scores, q, k, n);
  lesson_18::softmax(scores, scores, n.H * n.T, n.S, stream);
  launch(weigh_kernel, {dim3(n.T, n.H), 64, 0, stream}, out, scores, v, n);
}

/// What a warp knows of one query after some keys: the largest score, and, relative to it, the sum of the weights and
/// the weighted values. Lane i looks after elements i, i + 32, ... of the head.
struct Online {
  float largest = -INFINITY, sum = 0;
  float values[most_each] = {};
};

/// Takes in one key.  v_s: (D)
__device__ void take(Online& o, float score, const float* v_s, int D) {
  const int lane = threadIdx.x % warp_size;
  // >>> where the score is a new maximum, bring sum and values down to it; then add exp(score - largest) and the value
  const float largest = fmaxf(o.largest, score);
  const float old = expf(o.largest - largest), weight = expf(score - largest);
  o.sum = o.sum * old + weight;
  for (int i = 0; i < most_each; ++i)
    if (lane + i * warp_size < D) o.values[i] = o.values[i] * old + weight * v_s[lane + i * warp_size];
  o.largest = largest;
  // <<<
}

/// out: (D)
__device__ void finish(float* out, const Online& o, int D) {
  const int lane = threadIdx.x % warp_size;
  for (int i = 0; i < most_each; ++i)
    if (lane + i * warp_size < D) out[lane + i * warp_size] = o.values[i] / o.sum;
}

/// A block of one warp for each query and head.
__global__ void online_kernel(float* out, const float* q, const float* k, const float* v, AttentionShape n) {
  const int t = blockIdx.x, h = blockIdx.y, g = h / (n.H / n.G);
  const float* q_t = q + (size_t(t) * n.H + h) * n.D;  // q[t, h, :]
  Online o;
  // >>> take in each key that query t sees, one after the other
  for (int s = 0; s <= n.S - n.T + t; ++s) {
    const size_t row = (size_t(s) * n.G + g) * n.D;  // of k[s, g, :] and v[s, g, :]
    take(o, warp_dot(q_t, k + row, n.D) / sqrtf(float(n.D)), v + row, n.D);
  }
  // <<<
  finish(out + (size_t(t) * n.H + h) * n.D, o, n.D);
}

void attention_online(float* out, const float* q, const float* k, const float* v, AttentionShape n,
                      cudaStream_t stream) {
  launch(online_kernel, {dim3(n.T, n.H), warp_size, 0, stream}, out, q, k, v, n);
}

constexpr int queries = 8;  // of a block in tiled_kernel: a warp for each
constexpr int keys = 32;    // of a tile

/// Keys and values of head g, from key `begin` on, for the whole block.  k_tile, v_tile: (keys, D), in shared memory
__device__ void load_tiles(float* k_tile, float* v_tile, const float* k, const float* v, int begin, int g,
                           AttentionShape n) {
  // >>> all threads bring keys and values from `begin` on into the tiles, as many as there are; then wait
  for (int i = threadIdx.x; i < min(keys, n.S - begin) * n.D; i += blockDim.x) {
    const size_t from = (size_t(begin + i / n.D) * n.G + g) * n.D + i % n.D;
    k_tile[i] = k[from], v_tile[i] = v[from];
  }
  __syncthreads();
  // <<<
}

/// A block for 8 queries of a head. Tile by tile it brings keys and values into shared memory, once for all of them.
__global__ void tiled_kernel(float* out, const float* q, const float* k, const float* v, AttentionShape n) {
  DYNAMIC_SHARED(float, k_tile);        // (keys, D)
  float* v_tile = k_tile + keys * n.D;  // (keys, D)
  const int h = blockIdx.y, g = h / (n.H / n.G);
  const int first = blockIdx.x * queries, t = first + threadIdx.x / warp_size;  // this block's and this warp's
  const float* q_t = q + (size_t(min(t, n.T - 1)) * n.H + h) * n.D;             // q[t, h, :]
  Online o;
  const int last = n.S - n.T + min(first + queries, n.T) - 1;  // the last key that any query of this block sees
  for (int begin = 0; begin <= last; begin += keys) {
    load_tiles(k_tile, v_tile, k, v, begin, g, n);
    // >>> take in those keys of the tile that query t sees, when there is such a query
    const int end = t < n.T ? min(begin + keys, n.S - n.T + t + 1) : begin;
    for (int s = begin; s < end; ++s)
      take(o, warp_dot(q_t, k_tile + (s - begin) * n.D, n.D) / sqrtf(float(n.D)), v_tile + (s - begin) * n.D, n.D);
    // <<<

    // >>> let nobody overwrite the tiles that others still read
    __syncthreads();
    // <<<
  }
  if (t < n.T) finish(out + (size_t(t) * n.H + h) * n.D, o, n.D);
}

void attention_tiled(float* out, const float* q, const float* k, const float* v, AttentionShape n,
                     cudaStream_t stream) {
  const size_t bytes = size_t(2) * keys * n.D * sizeof(float);
  launch(tiled_kernel, {dim3(ceil_div(n.T, queries), n.H), queries * warp_size, bytes, stream}, out, q, k, v, n);
}

/// A block of one warp for each split, head and row.  partial: (N, H, splits, 2 + D)
__global__ void split_kernel(float* partial, const float* q, const float* k, const float* v, const int* sequence,
                             const int* position, CacheShape cache) {
  const int split = blockIdx.x, splits = gridDim.x, h = blockIdx.y, row_of_q = blockIdx.z;
  const AttentionShape n{1, position[row_of_q] + 1, cache.H, cache.G, cache.D};  // this query and its S keys
  const int g = h / (n.H / n.G);
  const float* q_h = q + (size_t(row_of_q) * n.H + h) * n.D;  // q[row_of_q, h, :]
  const size_t first = size_t(sequence[row_of_q]) * cache.capacity * n.G * n.D;
  k += first, v += first;  // k, v[sequence, :, :, :], which is (S, G, D) as before
  Online o;
  // >>> take in this split's keys: of S keys each split gets ⌈S / splits⌉, the last ones what is left
  const int each = ceil_div(n.S, splits), end = min(n.S, (split + 1) * each);
  for (int s = split * each; s < end; ++s) {
    const size_t row = (size_t(s) * n.G + g) * n.D;  // of k[s, g, :] and v[s, g, :]
    take(o, warp_dot(q_h, k + row, n.D) / sqrtf(float(n.D)), v + row, n.D);
  }
  // <<<
  const int lane = threadIdx.x;
  float* mine =
      partial + ((size_t(row_of_q) * n.H + h) * splits + split) * (2 + n.D);  // partial[row_of_q, h, split, :]
  if (lane == 0) mine[0] = o.largest, mine[1] = o.sum;
  for (int i = 0; i < most_each; ++i)
    if (lane + i * warp_size < n.D) mine[2 + lane + i * warp_size] = o.values[i];
}

/// A block for each head and row, a thread for some of the elements.  out: (N, H, D); partial: (N, H, splits, 2 + D)
__global__ void combine_kernel(float* out, const float* partial, int splits, int D) {
  const size_t head = size_t(blockIdx.y) * gridDim.x + blockIdx.x;  // of all heads of all rows
  const float* parts = partial + head * splits * (2 + D);           // partial[n, h, :, :]
  float* out_h = out + head * D;                                    // out[n, h, :]
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    // >>> bring every split down to the largest maximum of all; out = the sum of their values / the sum of their sums
    float largest = -INFINITY, sum = 0, value = 0;
    for (int i = 0; i < splits; ++i) largest = fmaxf(largest, parts[i * (2 + D)]);
    for (int i = 0; i < splits; ++i) {
      const float* part = parts + i * (2 + D);
      const float down = expf(part[0] - largest);  // 0 for a split without keys
      sum += down * part[1];
      value += down * part[2 + d];
    }
    out_h[d] = value / sum;
    // <<<
  }
}

void attention_split(float* out, float* partial, const float* q, const float* k, const float* v, const int* sequence,
                     const int* position, CacheShape n, int splits, cudaStream_t stream) {
  launch(split_kernel, {dim3(splits, n.H, n.N), warp_size, 0, stream}, partial, q, k, v, sequence, position, n);
  launch(combine_kernel, {dim3(n.H, n.N), 64, 0, stream}, out, partial, splits, n.D);
}

static_assert(keys == warp_size);  // lane i has the score of key i of a tile

/// Takes in the keys of a tile at once. Lane i has the score of key i, and -∞ where the query does not see that key; it
/// sees the first `count`, one at least.  v_tile: (keys, D)
__device__ void take_tile(Online& o, float score, int count, const float* v_tile, int D) {
  const int lane = threadIdx.x % warp_size;
  float weight = 0;  // of this lane's key
  // >>> the new maximum, with the tile's; bring sum and values down to it, once; set `weight`, add the warp's to sum
  const float largest = fmaxf(o.largest, warp_max(score)), old = expf(o.largest - largest);
  weight = expf(score - largest);
  o.sum = o.sum * old + warp_sum(weight);
  for (int i = 0; i < most_each; ++i) o.values[i] *= old;
  o.largest = largest;
  // <<<

  // >>> add the values of the tile, each times its key's weight, which is that of lane s for key s
  for (int s = 0; s < count; ++s) {
    const float weight_s = __shfl_sync(0xffffffff, weight, s);
    for (int i = 0; i < most_each; ++i)
      if (lane + i * warp_size < D) o.values[i] += weight_s * v_tile[s * D + lane + i * warp_size];
  }
  // <<<
}

/// As tiled_kernel, but the keys of a tile are taken in at once.
__global__ void flash2_kernel(float* out, const float* q, const float* k, const float* v, AttentionShape n) {
  DYNAMIC_SHARED(float, k_tile);        // (keys, D)
  float* v_tile = k_tile + keys * n.D;  // (keys, D)
  const int h = blockIdx.y, g = h / (n.H / n.G), lane = threadIdx.x % warp_size;
  const int first = blockIdx.x * queries, t = first + threadIdx.x / warp_size;  // this block's and this warp's
  const float* q_t = q + (size_t(min(t, n.T - 1)) * n.H + h) * n.D;             // q[t, h, :]
  Online o;
  const int last = n.S - n.T + min(first + queries, n.T) - 1;  // the last key that any query of this block sees
  for (int begin = 0; begin <= last; begin += keys) {
    load_tiles(k_tile, v_tile, k, v, begin, g, n);
    // >>> this lane's score, and take_tile, where query t sees keys of the tile; then let nobody overwrite the tiles
    const int count = t < n.T ? min(keys, n.S - n.T + t + 1 - begin) : 0;
    float score = -INFINITY;
    for (int i = 0; i < count; ++i) {
      const float score_i = warp_dot(q_t, k_tile + i * n.D, n.D) / sqrtf(float(n.D));
      if (i == lane) score = score_i;
    }
    if (count > 0) take_tile(o, score, count, v_tile, n.D);
    __syncthreads();
    // <<<
  }
  if (t < n.T) finish(out + (size_t(t) * n.H + h) * n.D, o, n.D);
}

void attention_flash2(float* out, const float* q, const float* k, const float* v, AttentionShape n,
                      cudaStream_t stream) {
  const size_t bytes = size_t(2) * keys * n.D * sizeof(float);
  launch(flash2_kernel, {dim3(ceil_div(n.T, queries), n.H), queries * warp_size, bytes, stream}, out, q, k, v, n);
}

}  // namespace lesson_19
