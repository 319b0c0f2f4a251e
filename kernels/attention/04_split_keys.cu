/// Rung 4: one query has no tile of queries to share its keys with, and with a block a head most of a GPU would idle.
/// So the keys are split: many blocks take a piece of them each, with a softmax of its own, and leave their largest
/// score, their total of weights and their weighted sum of values. A second kernel scales these to the largest of all
/// and adds them up. Work is bound by reading the cache, so a block computes all query heads of its key/value head:
/// with GQA the cache is read once for HEADS of them.
#include "kernels/attention/attention.hpp"
#include "kernels/attention/split_keys.cuh"
#include "kernels/overlap.cuh"

namespace rungs {

size_t attention_04_workspace(int N, int keys, int H, int G, int D) {
  // N · splits_of(N) is at most this, and this does not fall with N.
  const size_t parts = std::min(size_t(N) * ceil_div(keys, 2 * least_keys), size_t(std::max(N, split_blocks() / G)));
  return parts * H * (D + 2) + 2;
}

/// A block per split, slice of HEADS query heads of a key/value head, and row.
/// q: (N, H, D); D <= WIDTH.
template <int WIDTH, int HEADS, bool ALIGNED>
__global__ void __launch_bounds__(split_warps * 32, resident_blocks(HEADS))
    attention_split_keys(SplitParts parts, const float* q, CacheRows cache, int H, int G, int D, float scale) {
  let_next_kernel_begin();
  wait_for_earlier_kernels();
  const Split split = split_of_block<HEADS>(cache.position, H, G);
  if (split.begin == split.end) return;  // the whole block: nobody waits for it
  using Softmax = OnlineSoftmax<WIDTH, HEADS>;
  const LaneOfRow<ALIGNED> row = {int(threadIdx.x) % Softmax::lanes * 4, min(D, WIDTH / 2), D};
  const size_t first_row = size_t(split.n) * H + split.first_head;  // of q

  Softmax softmax;
  for (int i = 0; i < HEADS; ++i) row.load(softmax.query[i], q + (first_row + i) * D, i < split.heads);
  softmax.add_keys(row, KeysInCache(cache, split, G, D), split.begin, split.end, scale);

  __shared__ SumsOfWarps<WIDTH, HEADS> warps;
  warps.gather(softmax);
  warps.each_element(split.heads, row, [&](int i, float2 stat, int d, float x) {
    const size_t part = (first_row + i) * gridDim.x + blockIdx.x;
    if (d == 0) parts.stats[part] = stat;
    parts.sums[part * D + d] = x;
  });
}

/// (Largest score, total of weights) of a head over its filled splits. The whole warp calls.
__device__ __forceinline__ float2 stat_of_splits(const float2* stats, int filled) {
  const int lane = threadIdx.x % 32;
  float largest = -FLT_MAX, total = 0.0f;
  for (int i = lane; i < filled; i += 32) largest = fmaxf(largest, stats[i].x);
  largest = warp_max(largest);
  for (int i = lane; i < filled; i += 32) total += stats[i].y * __expf(stats[i].x - largest);
  return make_float2(largest, warp_sum(total));
}

/// Element d of a head's weighted sums over the splits first, first + step, ... below `filled`.
__device__ __forceinline__ float sum_of_splits(const float* sums, const float2* stats, float largest, int d, int D,
                                               int first, int step, int filled) {
  float sum = 0.0f;
#pragma unroll 4
  for (int i = first; i < filled; i += step) sum += sums[size_t(i) * D + d] * __expf(stats[i].x - largest);
  return sum;
}

/// A block per head and row: thread (x, y) has element x of the splits y, y + blockDim.y, ...
/// out: (N, H, D); position: (N); blockDim.x: D or more.
__global__ void attention_combine(float* out, SplitParts parts, const int* position, int splits, int D) {
  let_next_kernel_begin();
  wait_for_earlier_kernels();
  DYNAMIC_SHARED(float, slices);  // (blockDim.y, blockDim.x)
  const int h = blockIdx.x, H = gridDim.x, n = blockIdx.y, d = threadIdx.x;
  const int filled = filled_splits(position[n] + 1, splits);
  const float* sums = parts.sums + (size_t(n) * H + h) * splits * D;
  const float2* stats = parts.stats + (size_t(n) * H + h) * splits;

  const float2 stat = stat_of_splits(stats, filled);  // each warp by itself: they are few, and no warp waits
  float sum = d < D ? sum_of_splits(sums, stats, stat.x, d, D, threadIdx.y, blockDim.y, filled) : 0.0f;
  slices[threadIdx.y * blockDim.x + d] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && d < D) {
    for (int y = 1; y < int(blockDim.y); ++y) sum += slices[y * blockDim.x + d];
    out[(size_t(n) * H + h) * D + d] = sum / stat.y;
  }
}

void attention_04(float* out, const float* q, const CacheRows& cache, float* workspace, int N, int keys, int H, int G,
                  int D, cudaStream_t stream) {
  check_attention(1, keys, H, G, D);
  if (N == 0) return;
  const int splits = splits_of(N, keys, G);
  const SplitParts parts = parts_in(workspace, N, H, splits);
  const bool aligned = rows_of_4(D, q, static_cast<const float*>(cache.k), static_cast<const float*>(cache.v));
  with_split_sizes(D, H / G, aligned, [&](auto width, auto heads, auto four) {
    launch(attention_split_keys<width(), heads(), four()>,
           {split_grid(splits, heads(), N, H, G), split_warps * 32, 0, stream, /*overlap=*/true}, parts, q, cache, H, G,
           D, 1.0f / std::sqrt(float(D)));
  });
  const dim3 block(ceil_div(D, 32) * 32, std::clamp(splits / 4, 1, 1024 / (ceil_div(D, 32) * 32)));
  launch(attention_combine, {dim3(H, N), block, block.x * block.y * sizeof(float), stream, /*overlap=*/true}, out,
         parts, cache.position, splits, D);
}

}  // namespace rungs
