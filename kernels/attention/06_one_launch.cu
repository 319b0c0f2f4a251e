/// Rung 6: what rung 4 adds to a decoding step is small, and so the gaps between its launches count. Here RoPE, the
/// append to the cache, rung 4's split and its combination are one kernel. Each block rotates its queries as it loads
/// them. The newest key is not in the cache yet: the blocks that see it take it from k and rotate it in registers, and
/// one of them writes it to the cache, where the next launch finds it. A launch ends no stage here, so blocks count
/// themselves: the last of a row and slice of heads finds the parts of all others in memory and combines them.
#include "kernels/attention/attention.hpp"
#include "kernels/attention/split_keys.cuh"
#include "kernels/overlap.cuh"
#include "kernels/rope/rotate.cuh"

namespace rungs {

/// Turns the pairs of a row whose parts are its halves: a lane has both elements of each of its pairs.
__device__ __forceinline__ void rotate(float4 (&x)[2], float4 cos, float4 sin) {
  rotate(x[0].x, x[1].x, cos.x, sin.x);
  rotate(x[0].y, x[1].y, cos.y, sin.y);
  rotate(x[0].z, x[1].z, cos.z, sin.z);
  rotate(x[0].w, x[1].w, cos.w, sin.w);
}

/// Whether this block is the last of `blocks` that come here with this counter; then it may read what the others wrote
/// before. The last one sets the counter back to 0, for the next launch. The whole block calls.
__device__ __forceinline__ bool is_last_block(unsigned* counter, int blocks) {
  __shared__ int last;
  __syncthreads();  // the whole block has written
  if (threadIdx.x == 0) {
    __threadfence();  // what the block wrote comes before its count
    last = atomicInc(counter, blocks - 1) == unsigned(blocks) - 1;
    __threadfence();  // and all counts before what the last one reads
  }
  __syncthreads();
  return last;
}

/// A block per split, slice of HEADS query heads of a key/value head, and row.
/// out, q: (N, H, D); counters: (N, gridDim.y), 0 before and after; k, v: (N, G, D); D even, <= WIDTH.
template <int WIDTH, int HEADS, bool ALIGNED>
__global__ void __launch_bounds__(split_warps * 32)
    attention_one_launch(float* out, SplitParts parts, unsigned* counters, const float* q, const float* k,
                         const float* v, CacheRows cache, RopePointers rotary, int H, int G, int D, float scale) {
  let_next_kernel_begin();
  wait_for_earlier_kernels();
  const Split split = split_of_block<HEADS>(cache.position, H, G);
  if (split.begin == split.end) return;  // nobody waits for it or counts it
  using Softmax = OnlineSoftmax<WIDTH, HEADS>;
  const int n = split.n, half = D / 2, position = cache.position[n];
  const LaneOfRow<ALIGNED> row = {int(threadIdx.x) % Softmax::lanes * 4, half, D};
  const size_t first_row = size_t(n) * H + split.first_head;                               // of q and out
  const size_t in_cache = (size_t(cache.sequence[n]) * cache.capacity * G + split.g) * D;  // [sequence[n], 0, g, :]
  const float4 cos = load4<ALIGNED>(rotary.cos + size_t(position) * half, row.d, half);
  const float4 sin = load4<ALIGNED>(rotary.sin + size_t(position) * half, row.d, half);

  Softmax softmax;
  for (int i = 0; i < HEADS; ++i) {
    row.load(softmax.query[i], q + (first_row + i) * D, i < split.heads);
    rotate(softmax.query[i], cos, sin);
  }
  const KeysInOrder keys = {cache.k + in_cache, cache.v + in_cache, G * D};
  softmax.add_keys(row, keys, split.begin, min(split.end, position), scale);

  // The newest key, by the first lanes of warp 0, in registers alone.
  if (split.end > position && threadIdx.x < 32) {
    const bool first = threadIdx.x < Softmax::lanes;
    const size_t in_call = (size_t(n) * G + split.g) * D;
    float4 key[2], value[1][2];
    float score[1][HEADS];
    row.load(key, k + in_call);
    row.load(value[0], v + in_call);
    rotate(key, cos, sin);
    softmax.score(score[0], key, scale, first);
    softmax.add(score, value);
    if (first && split.first_head == split.g * (H / G)) {  // one slice of the heads writes for all
      const size_t newest = in_cache + size_t(position) * G * D;
      row.store(cache.k + newest, key);
      row.store(cache.v + newest, value[0]);
    }
  }

  __shared__ SumsOfWarps<WIDTH, HEADS> warps;
  warps.gather(softmax);
  const int splits = gridDim.x, filled = filled_splits(position + 1, splits);
  for (int i = 0; i < split.heads; ++i)
    warps.each_element(i, row, [&](float2 stat, int d, float x) {
      const size_t part = (first_row + i) * splits + blockIdx.x;
      if (filled == 1) {
        out[(first_row + i) * D + d] = x / stat.y;
      } else {
        if (d == 0) parts.stats[part] = stat;
        parts.sums[part * D + d] = x;
      }
    });
  if (filled == 1 || !is_last_block(&counters[n * gridDim.y + blockIdx.y], filled)) return;

  __shared__ float2 whole[HEADS];
  for (int i = threadIdx.x / 32; i < split.heads; i += split_warps) {
    const float2 stat = stat_of_splits(parts.stats + (first_row + i) * splits, filled);
    if (threadIdx.x % 32 == 0) whole[i] = stat;
  }
  __syncthreads();
  for (int x = threadIdx.x; x < split.heads * D; x += blockDim.x) {
    const int i = x / D, d = x % D;
    const size_t first_part = (first_row + i) * splits;
    const float sum =
        sum_of_splits(parts.sums + first_part * D, parts.stats + first_part, whole[i].x, d, D, 0, 1, filled);
    out[(first_row + i) * D + d] = sum / whole[i].y;
  }
}

void attention_06(float* out, const float* q, const float* k, const float* v, const CacheRows& cache,
                  const RopePointers& rotary, float* workspace, unsigned* counters, int N, int H, int G, int D,
                  cudaStream_t stream) {
  check_attention(1, cache.capacity, H, G, D);
  if (D % 2) throw ShapeError("attention: RoPE turns pairs, and a head width of " + std::to_string(D) + " is odd");
  if (N == 0) return;
  const int splits = splits_of(N, cache.capacity, G);
  const bool aligned = rows_of_4(D / 2, q, k, v, static_cast<const float*>(cache.k), static_cast<const float*>(cache.v),
                                 rotary.cos, rotary.sin);
  with_split_sizes(D, H / G, aligned, [&](auto width, auto heads, auto four) {
    launch(attention_one_launch<width(), heads(), four()>,
           {split_grid(splits, heads(), N, H, G), split_warps * 32, 0, stream, /*overlap=*/true}, out,
           parts_in(workspace, N, H, splits), counters, q, k, v, cache, rotary, H, G, D, 1.0f / std::sqrt(float(D)));
  });
}

}  // namespace rungs
