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
__global__ void __launch_bounds__(split_warps * 32, resident_blocks(HEADS))
    attention_one_launch(float* out, SplitParts parts, unsigned* counters, const float* q, const float* k,
                         const float* v, CacheRows cache, RopePointers rotary, int H, int G, int D, float scale) {
  let_next_kernel_begin();
  wait_for_earlier_kernels();
  const Split split = split_of_block<HEADS>(cache.position, H, G);
  if (split.begin == split.end) return;  // nobody waits for it or counts it
  using Softmax = OnlineSoftmax<WIDTH, HEADS>;
  const int n = split.n, half = D / 2, position = cache.position[n];
  const LaneOfRow<ALIGNED> row = {int(threadIdx.x) % Softmax::lanes * 4, half, D};
  const size_t first_row = size_t(n) * H + split.first_head;  // of q and out
  const auto angles = [&](const float* table) { return load4<ALIGNED>(table + size_t(position) * half, row.d, half); };

  Softmax softmax;
  for (int i = 0; i < HEADS; ++i) {
    row.load(softmax.query[i], q + (first_row + i) * D, i < split.heads);
    rotate(softmax.query[i], angles(rotary.cos), angles(rotary.sin));
  }
  softmax.add_keys(row, KeysInCache(cache, split, G, D), split.begin, min(split.end, position), scale);

  // The newest key, in registers alone; it counts for the first lanes of warp 0.
  if (split.end > position) {
    const bool first = threadIdx.x < Softmax::lanes;
    const size_t in_call = (size_t(n) * G + split.g) * D;
    float4 key[2], value[1][2];
    float score[1][HEADS];
    row.load(key, k + in_call);
    row.load(value[0], v + in_call);
    rotate(key, angles(rotary.cos), angles(rotary.sin));
    softmax.score(score[0], key, scale, first);
    softmax.add(score, value);
    if (first && split.first_head == split.g * (H / G)) {  // one slice of the heads writes for all
      const size_t newest = (size_t(row_in_cache(cache, n, position)) * G + split.g) * D;
      row.store(cache.k + newest, key);
      row.store(cache.v + newest, value[0]);
    }
  }

  __shared__ SumsOfWarps<WIDTH, HEADS> warps;
  warps.gather(softmax);
  const int splits = gridDim.x, filled = filled_splits(position + 1, splits);
  warps.each_element(split.heads, row, [&](int i, float2 stat, int d, float x) {
    const size_t part = (first_row + i) * splits + blockIdx.x;
    if (filled == 1) {
      out[(first_row + i) * D + d] = x / stat.y;
    } else {
      if (d == 0) parts.stats[part] = stat;
      parts.sums[part * D + d] = x;
    }
  });
  if (filled == 1 || !is_last_block(&counters[n * gridDim.y + blockIdx.y], filled)) return;

  // Lane groups share out the parts. All loads of one are on their way before the first is used.
  Softmax whole;
  for (int part = threadIdx.x / Softmax::lanes; part < filled; part += split_warps * Softmax::groups) {
    float2 stat[HEADS];
    float4 sum[HEADS][2];
    for (int i = 0; i < HEADS; ++i) {
      const size_t at = (first_row + min(i, split.heads - 1)) * splits + part;
      stat[i] = parts.stats[at];
      row.load(sum[i], parts.sums + at * D);
    }
    for (int i = 0; i < HEADS; ++i) whole.add_part(i, stat[i], sum[i]);
  }
  warps.gather(whole);
  warps.each_element(split.heads, row,
                     [&](int i, float2 stat, int d, float x) { out[(first_row + i) * D + d] = x / stat.y; });
}

void attention_06(float* out, const float* q, const float* k, const float* v, const CacheRows& cache,
                  const RopePointers& rotary, float* workspace, unsigned* counters, int N, int keys, int H, int G,
                  int D, cudaStream_t stream) {
  check_attention(1, keys, H, G, D, /*in_pairs=*/true);
  if (N == 0) return;
  const int splits = splits_of(N, keys, G);
  const bool aligned = rows_of_4(D / 2, q, k, v, static_cast<const float*>(cache.k), static_cast<const float*>(cache.v),
                                 rotary.cos, rotary.sin);
  with_split_sizes(D, H / G, aligned, [&](auto width, auto heads, auto four) {
    launch(attention_one_launch<width(), heads(), four()>,
           {split_grid(splits, heads(), N, H, G), split_warps * 32, 0, stream, /*overlap=*/true}, out,
           parts_in(workspace, N, H, splits), counters, q, k, v, cache, rotary, H, G, D, 1.0f / std::sqrt(float(D)));
  });
}

}  // namespace rungs
