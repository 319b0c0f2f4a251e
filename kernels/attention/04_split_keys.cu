/// Rung 4: one query has no tile of queries to share its keys with, and with a block a head most of a GPU would idle.
/// So the keys are split: many blocks take a piece of them each, with a softmax of its own, and leave their largest
/// score, their total of weights and their weighted sum of values. A second kernel scales these to the largest of all
/// and adds them up. Work is bound by reading the cache, so a block computes all query heads of its key/value head:
/// with GQA the cache is read once for HEADS of them.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/parts.cuh"
#include "kernels/device.hpp"
#include "kernels/warp.cuh"

namespace rungs {

static constexpr int least_keys = 32;  // that a block takes on
static constexpr int split_warps = 4;  // per block

/// Three for each multiprocessor: as many as run at once.
static int split_blocks() { return 3 * attribute_of_device(cudaDevAttrMultiProcessorCount); }

/// Blocks for each row and key/value head. They depend on what is known when a graph is captured.
static int splits_of(int N, int capacity, int G) {
  return std::clamp(split_blocks() / (N * G), 1, ceil_div(capacity, 2 * least_keys));
}

size_t attention_04_workspace(int N, int capacity, int H, int G, int D) {
  // N · splits_of(N) is at most this, and this does not fall with N.
  const size_t parts =
      std::min(size_t(N) * ceil_div(capacity, 2 * least_keys), size_t(std::max(N, split_blocks() / G)));
  return parts * H * (D + 2);
}

/// How many keys each block takes: all take their share of those that there are, however full the cache.
__device__ __forceinline__ int keys_per_split(int keys, int splits) {
  return max(least_keys, (keys + splits - 1) / splits);
}

/// The kernel's sizes: a key is held by `lanes` lanes of a warp, 8 elements each, and a warp takes several keys at
/// once.
template <int WIDTH, int HEADS>
struct SplitKeys {
  static constexpr int lanes = WIDTH / 8, groups = 32 / lanes;  // lanes a key; keys side by side in a warp
  static constexpr int depth = HEADS > 4 ? 2 : 4;               // keys that a lane has under way
  static constexpr int step = groups * depth;                   // keys that a warp takes at once
};

/// Adds up x over the lanes of a warp that differ in the bits of `from` to `to` (powers of two).
template <int FROM, int TO>
__device__ __forceinline__ float sum_over(float x) {
  for (int bit = FROM; bit < TO; bit *= 2) x += __shfl_xor_sync(0xffffffffu, x, bit);
  return x;
}

/// A block per split, slice of HEADS query heads of a key/value head, and row.
/// sums: (N, H, splits, D) and stats: (N, H, splits, 2) (largest score, total of weights), written as far as there are
/// keys; q: (N, H, D); k, v: (B, capacity, G, D); sequence, position: (N); D <= WIDTH.
template <int WIDTH, int HEADS, bool ALIGNED>
__global__ void __launch_bounds__(split_warps * 32)
    attention_split_keys(float* sums, float2* stats, const float* q, const float* k, const float* v,
                         const int* sequence, const int* position, int capacity, int H, int G, int D, float scale) {
  using Sizes = SplitKeys<WIDTH, HEADS>;
  constexpr int lanes = Sizes::lanes, groups = Sizes::groups, depth = Sizes::depth, step = Sizes::step;
  const int n = blockIdx.z, split = blockIdx.x, splits = gridDim.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int group = lane / lanes;                        // which of the warp's keys
  const int d0 = lane % lanes * 4, d1 = d0 + WIDTH / 2;  // the lane holds elements d0 to d0 + 3 and d1 to d1 + 3
  const int slices = (H / G + HEADS - 1) / HEADS, g = blockIdx.y / slices;
  const int first_head = g * (H / G) + blockIdx.y % slices * HEADS;
  const int heads = min(HEADS, (g + 1) * (H / G) - first_head);

  const int keys = position[n] + 1, share = keys_per_split(keys, splits);
  const int begin = split * share, end = min(keys, begin + share);
  if (begin >= end) return;  // the whole block: nobody waits for it
  const size_t cache_row = (size_t(sequence[n]) * capacity * G + g) * D;
  k += cache_row;  // k[sequence[n], 0, g, :]
  v += cache_row;

  float4 query[HEADS][2], sum[HEADS][2] = {};  // sum: Σ exp(score - largest) · v over this lane group's keys
  float largest[HEADS], total[HEADS];          // Σ exp(score - largest)
  for (int i = 0; i < HEADS; ++i) {
    const float* q_row = q + (size_t(n) * H + first_head + i) * D;
    query[i][0] = load4<ALIGNED>(q_row, d0, i < heads ? D : 0);
    query[i][1] = load4<ALIGNED>(q_row, d1, i < heads ? D : 0);
    largest[i] = -FLT_MAX;
    total[i] = 0.0f;
  }

  for (int s0 = begin + warp * step; s0 < end; s0 += split_warps * step) {
    const float* k_rows = k + size_t(s0 + group) * G * D;
    const float* v_rows = v + size_t(s0 + group) * G * D;
    float4 kv[depth][2];
    float score[depth][HEADS];
    for (int j = 0; j < depth; ++j) {
      const int width = s0 + group + groups * j < end ? D : 0;
      kv[j][0] = load4<ALIGNED>(k_rows + size_t(groups * j) * G * D, d0, width);
      kv[j][1] = load4<ALIGNED>(k_rows + size_t(groups * j) * G * D, d1, width);
    }
    for (int j = 0; j < depth; ++j)
      for (int i = 0; i < HEADS; ++i) {
        const float product = sum_over<1, lanes>(dot4(query[i][0], kv[j][0]) + dot4(query[i][1], kv[j][1]));
        score[j][i] = s0 + group + groups * j < end ? product * scale : -INFINITY;
      }
    for (int j = 0; j < depth; ++j) {
      const int width = s0 + group + groups * j < end ? D : 0;
      kv[j][0] = load4<ALIGNED>(v_rows + size_t(groups * j) * G * D, d0, width);
      kv[j][1] = load4<ALIGNED>(v_rows + size_t(groups * j) * G * D, d1, width);
    }
    for (int i = 0; i < HEADS; ++i) {
      float new_largest = largest[i];
      for (int j = 0; j < depth; ++j) new_largest = fmaxf(new_largest, score[j][i]);
      const float shrink = __expf(largest[i] - new_largest);
      largest[i] = new_largest;
      total[i] *= shrink;
      scale4(sum[i][0], shrink);
      scale4(sum[i][1], shrink);
      for (int j = 0; j < depth; ++j) {
        const float weight = __expf(score[j][i] - new_largest);  // 0 beyond the last key
        total[i] += weight;
        add_scaled(sum[i][0], weight, kv[j][0]);
        add_scaled(sum[i][1], weight, kv[j][1]);
      }
    }
  }

  // Bring the warp's lane groups to one largest score and add them up, then the block's warps.
  __shared__ __align__(16) float warp_sums[split_warps][HEADS][WIDTH];
  __shared__ float warp_largest[split_warps][HEADS], warp_total[split_warps][HEADS];
  for (int i = 0; i < HEADS; ++i) {
    const float warp_s = warp_max(largest[i]), shrink = __expf(largest[i] - warp_s);
    total[i] = sum_over<lanes, 32>(total[i] * shrink);
    for (int part = 0; part < 2; ++part) {
      float4& x = sum[i][part];
      x.x = sum_over<lanes, 32>(x.x * shrink);
      x.y = sum_over<lanes, 32>(x.y * shrink);
      x.z = sum_over<lanes, 32>(x.z * shrink);
      x.w = sum_over<lanes, 32>(x.w * shrink);
    }
    if (group == 0) {
      *reinterpret_cast<float4*>(&warp_sums[warp][i][d0]) = sum[i][0];
      *reinterpret_cast<float4*>(&warp_sums[warp][i][d1]) = sum[i][1];
    }
    if (lane == 0) {
      warp_largest[warp][i] = warp_s;
      warp_total[warp][i] = total[i];
    }
  }
  __syncthreads();
  for (int i = 0; i < heads; ++i) {
    float block_largest = warp_largest[0][i], block_total = 0.0f, shrink[split_warps];
    for (int w = 1; w < split_warps; ++w) block_largest = fmaxf(block_largest, warp_largest[w][i]);
    for (int w = 0; w < split_warps; ++w) {
      shrink[w] = __expf(warp_largest[w][i] - block_largest);
      block_total += shrink[w] * warp_total[w][i];
    }
    const size_t part = (size_t(n) * H + first_head + i) * splits + split;
    if (threadIdx.x == 0) stats[part] = make_float2(block_largest, block_total);
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
      float x = 0.0f;
      for (int w = 0; w < split_warps; ++w) x += shrink[w] * warp_sums[w][i][d];
      sums[part * D + d] = x;
    }
  }
}

/// A block per head and row: thread (x, y) has element x of the splits y, y + blockDim.y, ...
/// out: (N, H, D); sums: (N, H, splits, D); stats: (N, H, splits, 2); position: (N); blockDim.x: D or more.
__global__ void attention_combine(float* out, const float* sums, const float2* stats, const int* position, int splits,
                                  int D) {
  DYNAMIC_SHARED(float, slices);  // (blockDim.y, blockDim.x)
  const int h = blockIdx.x, H = gridDim.x, n = blockIdx.y;
  const int d = threadIdx.x, lane = threadIdx.x % 32;
  const int keys = position[n] + 1, share = keys_per_split(keys, splits);
  const int filled = (keys + share - 1) / share;  // splits that had keys
  sums += (size_t(n) * H + h) * splits * D;
  stats += (size_t(n) * H + h) * splits;

  // Each warp finds the largest score and the total by itself: they are few, and no warp waits.
  float largest = -FLT_MAX, total = 0.0f;
  for (int i = lane; i < filled; i += 32) largest = fmaxf(largest, stats[i].x);
  largest = warp_max(largest);
  for (int i = lane; i < filled; i += 32) total += stats[i].y * __expf(stats[i].x - largest);
  total = warp_sum(total);

  float sum = 0.0f;
  if (d < D) {
#pragma unroll 4
    for (int i = threadIdx.y; i < filled; i += blockDim.y)
      sum += sums[size_t(i) * D + d] * __expf(stats[i].x - largest);
  }
  slices[threadIdx.y * blockDim.x + d] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && d < D) {
    for (int y = 1; y < int(blockDim.y); ++y) sum += slices[y * blockDim.x + d];
    out[(size_t(n) * H + h) * D + d] = sum / total;
  }
}

void attention_04(float* out, const float* q, const float* k, const float* v, const int* sequence, const int* position,
                  float* workspace, int N, int capacity, int H, int G, int D, cudaStream_t stream) {
  check_attention(1, capacity, H, G, D);
  if (N == 0) return;
  const int splits = splits_of(N, capacity, G);
  const auto stats = reinterpret_cast<float2*>(workspace);  // (N, H, splits, 2)
  float* sums = workspace + 2 * size_t(N) * H * splits;     // (N, H, splits, D)
  const auto start = [&](auto kernel, int heads) {
    const dim3 grid(splits, G * ceil_div(H / G, heads), N);
    launch(kernel, {grid, split_warps * 32, 0, stream}, sums, stats, q, k, v, sequence, position, capacity, H, G, D,
           1.0f / std::sqrt(float(D)));
  };
  const auto with = [&](auto width, auto aligned) {
    if constexpr (!aligned()) {
      start(attention_split_keys<width(), 1, false>, 1);  // no model has such a width: what counts is that it works
    } else {
      if (H / G == 1)
        start(attention_split_keys<width(), 1, true>, 1);
      else if (H / G == 2)
        start(attention_split_keys<width(), 2, true>, 2);
      else if (H / G <= 4)
        start(attention_split_keys<width(), 4, true>, 4);
      else
        start(attention_split_keys<width(), 8, true>, 8);
    }
  };
  with_width_and_alignment(with, D, q, k, v);
  const dim3 block(ceil_div(D, 32) * 32, std::clamp(splits / 4, 1, 1024 / (ceil_div(D, 32) * 32)));
  launch(attention_combine, {dim3(H, N), block, block.x * block.y * sizeof(float), stream}, out, sums, stats, position,
         splits, D);
}

}  // namespace rungs
