/// What the rungs for decoding share: how the keys of a row are split over blocks, and the online softmax over a
/// block's keys.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels/attention/parts.cuh"
#include "kernels/rope/row_in_cache.cuh"
#include "kernels/warp.cuh"

namespace rungs {

constexpr int least_keys = 32;  ///< that a block takes on
constexpr int split_warps = 4;  ///< per block

/// Blocks that run at once on a multiprocessor. Of 8 heads there are registers for two.
constexpr int resident_blocks(int HEADS) { return HEADS > 4 ? 2 : 3; }
inline int split_blocks() { return resident_blocks(1) * attribute_of_device(cudaDevAttrMultiProcessorCount); }

/// Blocks for each row and key/value head. They depend on what is known when a graph is captured.
inline int splits_of(int N, int capacity, int G) {
  return std::clamp(split_blocks() / (N * G), 1, ceil_div(capacity, 2 * least_keys));
}

/// What the blocks of a launch leave for the combination, as far as there are keys.
struct SplitParts {
  float* sums;    ///< (N, H, splits, D): weighted sums of values
  float2* stats;  ///< (N, H, splits): (largest score, total of weights)
};

/// Where the parts lie in a workspace of attention_04_workspace(...) floats.
inline SplitParts parts_in(float* workspace, int N, int H, int splits) {
  const size_t stats = ceil_div(size_t(N) * H * splits, 2) * 2;  // so that the sums begin at a multiple of 16 bytes
  return {workspace + 2 * stats, reinterpret_cast<float2*>(workspace)};
}

/// Calls f(WIDTH, HEADS, ALIGNED) with what is compiled for heads of D elements, `group` query heads on each key/value
/// head, and rows that can be read four floats at a time or not.
template <class F>
void with_split_sizes(int D, int group, bool aligned, const F& f) {
  with_width(D, [&](auto width) {
    const auto with = [&](auto heads, auto four) { f(width, heads, four); };
    if (!aligned)  // no model has such a width: what counts is that it works
      with(std::integral_constant<int, 1>{}, std::false_type{});
    else if (group == 1)
      with(std::integral_constant<int, 1>{}, std::true_type{});
    else if (group == 2)
      with(std::integral_constant<int, 2>{}, std::true_type{});
    else if (group <= 4)
      with(std::integral_constant<int, 4>{}, std::true_type{});
    else
      with(std::integral_constant<int, 8>{}, std::true_type{});
  });
}

/// The grid for them: (splits, slices of HEADS query heads of each key/value head, N).
inline dim3 split_grid(int splits, int HEADS, int N, int H, int G) {
  return dim3(splits, G * ceil_div(H / G, HEADS), N);
}

/// How many keys each block takes: all take their share of those that there are, however full the cache.
__device__ __forceinline__ int keys_per_split(int keys, int splits) {
  return max(least_keys, (keys + splits - 1) / splits);
}

/// Splits of a row that have keys: the first so many.
__device__ __forceinline__ int filled_splits(int keys, int splits) {
  const int share = keys_per_split(keys, splits);
  return (keys + share - 1) / share;
}

/// What a block works on.
struct Split {
  int n, g;               ///< row, key/value head
  int first_head, heads;  ///< query heads of g
  int begin, end;         ///< keys; none when they are equal
};

/// The running block's, of a grid as split_grid gives it.  position: (N)
template <int HEADS>
__device__ __forceinline__ Split split_of_block(const int* position, int H, int G) {
  Split split;
  const int slices = (H / G + HEADS - 1) / HEADS;
  split.n = blockIdx.z, split.g = blockIdx.y / slices;
  split.first_head = split.g * (H / G) + blockIdx.y % slices * HEADS;
  split.heads = min(HEADS, (split.g + 1) * (H / G) - split.first_head);
  const int keys = position[split.n] + 1, share = keys_per_split(keys, gridDim.x);
  split.begin = min(keys, int(blockIdx.x) * share), split.end = min(keys, split.begin + share);
  return split;
}

/// How the lanes that hold a row of D elements share it out: each has 4 elements of its first part and 4 of the rest.
template <bool ALIGNED>
struct LaneOfRow {
  int d;      ///< where the lane's elements begin in either part
  int first;  ///< elements of the first part
  int D;

  /// x = the lane's elements; zeros beyond the ends of the parts, and where there is no row.
  __device__ __forceinline__ void load(float4 (&x)[2], const float* row, bool there = true) const {
    x[0] = load4<ALIGNED>(row, d, there ? first : 0);
    x[1] = load4<ALIGNED>(row + first, d, there ? D - first : 0);
  }
  __device__ __forceinline__ void store(float* row, const float4 (&x)[2]) const {
    store4<ALIGNED>(row, d, first, x[0]);
    store4<ALIGNED>(row + first, d, D - first, x[1]);
  }
};

/// Adds up x over the lanes of a warp that differ in the bits of `from` to `to` (powers of two).
template <int FROM, int TO>
__device__ __forceinline__ float sum_over(float x) {
  for (int bit = FROM; bit < TO; bit *= 2) x += __shfl_xor_sync(whole_warp, x, bit);
  return x;
}

/// Where a cache has the keys of a sequence, and their values.
struct KeysInCache {
  const float *k, *v;  ///< of the key/value head: in the sequence's first row, or the first of a paged cache
  const int* table;    ///< the sequence's block table, where the cache is paged
  int block_size;
  int stride;  ///< floats from one row to the next

  __device__ __forceinline__ KeysInCache(const CacheRows& cache, const Split& split, int G, int D)
      : table(cache.block_tables ? cache.block_tables + cache.first_block[split.n] : nullptr),
        block_size(cache.capacity),
        stride(G * D) {
    const size_t first = (table ? 0 : size_t(cache.sequence[split.n]) * cache.capacity * stride) + split.g * D;
    k = cache.k + first;
    v = cache.v + first;
  }
  /// The row of key s, counted from k, and of its value from v.
  __device__ __forceinline__ int row_of(int s) const { return table ? int(row_in_blocks(table, block_size, s)) : s; }
};

/// The softmax of HEADS query heads over the keys that a lane group has read so far. A key is held by `lanes` lanes of
/// a warp, 8 elements each, and a warp takes several keys at once.
template <int WIDTH, int HEADS>
struct OnlineSoftmax {
  static constexpr int lanes = WIDTH / 8, groups = 32 / lanes;     ///< lanes a key; keys side by side in a warp
  static constexpr int depth = HEADS > 4 ? 1 : HEADS > 2 ? 2 : 4;  ///< keys that a lane has under way
  static constexpr int step = groups * depth;                      ///< keys that a warp takes at once

  float4 query[HEADS][2];
  float4 sum[HEADS][2] = {};           ///< Σ exp(score - largest) · v
  float largest[HEADS], total[HEADS];  ///< total: Σ exp(score - largest)

  __device__ __forceinline__ OnlineSoftmax() {
    for (int i = 0; i < HEADS; ++i) largest[i] = -FLT_MAX, total[i] = 0.0f;
  }

  /// The scores of one key; the whole warp calls. Minus infinity, which gives the weight 0, where there is no key.
  __device__ __forceinline__ void score(float (&score)[HEADS], const float4 (&key)[2], float scale, bool there) const {
    for (int i = 0; i < HEADS; ++i) {
      const float product = sum_over<1, lanes>(dot4(query[i][0], key[0]) + dot4(query[i][1], key[1]));
      score[i] = there ? product * scale : -INFINITY;
    }
  }

  /// Takes `count` values with their scores.
  template <int count>
  __device__ __forceinline__ void add(const float (&score)[count][HEADS], const float4 (&value)[count][2]) {
    for (int i = 0; i < HEADS; ++i) {
      float new_largest = largest[i];
      for (int j = 0; j < count; ++j) new_largest = fmaxf(new_largest, score[j][i]);
      const float shrink = __expf(largest[i] - new_largest);
      largest[i] = new_largest;
      total[i] *= shrink;
      scale4(sum[i][0], shrink);
      scale4(sum[i][1], shrink);
      for (int j = 0; j < count; ++j) {
        const float weight = __expf(score[j][i] - new_largest);
        total[i] += weight;
        add_scaled(sum[i][0], weight, value[j][0]);
        add_scaled(sum[i][1], weight, value[j][1]);
      }
    }
  }

  /// Takes the keys `begin` to `end`, of which each warp of the block has its steps. Values are on their way while the
  /// scores are computed, and the next keys while the values are added up.
  template <bool ALIGNED>
  __device__ __forceinline__ void add_keys(const LaneOfRow<ALIGNED>& row, const KeysInCache& keys, int begin, int end,
                                           float scale) {
    const int group = threadIdx.x % 32 / lanes;
    const auto key_of = [&](int s, int j) { return s + group + groups * j; };
    int rows[depth] = {};
    const auto look_up = [&](int s) {
      for (int j = 0; j < depth; ++j)
        if (key_of(s, j) < end) rows[j] = keys.row_of(key_of(s, j));
    };
    const auto load = [&](float4(&x)[depth][2], const float* first, int s) {
      for (int j = 0; j < depth; ++j) row.load(x[j], first + size_t(rows[j]) * keys.stride, key_of(s, j) < end);
    };
    float4 key[depth][2], value[depth][2];
    float scores[depth][HEADS];
    int s = begin + int(threadIdx.x) / 32 * step;
    look_up(s);
    load(key, keys.k, s);
    while (s < end) {
      load(value, keys.v, s);
      const int next = s + split_warps * step;
      look_up(next);
      for (int j = 0; j < depth; ++j) score(scores[j], key[j], scale, key_of(s, j) < end);
      load(key, keys.k, next);
      add(scores, value);
      s = next;
    }
  }

  /// Takes what others found for head i: their largest score and total, and their sum.
  __device__ __forceinline__ void add_part(int i, float2 stat, const float4 (&part)[2]) {
    const float new_largest = fmaxf(largest[i], stat.x);
    const float shrink = __expf(largest[i] - new_largest), weight = __expf(stat.x - new_largest);
    largest[i] = new_largest;
    total[i] = total[i] * shrink + stat.y * weight;
    for (int h = 0; h < 2; ++h) {
      scale4(sum[i][h], shrink);
      add_scaled(sum[i][h], weight, part[h]);
    }
  }
};

/// What the warps of a block found, in shared memory.
template <int WIDTH, int HEADS>
struct SumsOfWarps {
  alignas(16) float sums[split_warps][HEADS][WIDTH];  // the first part of a row, and from WIDTH/2 on the second
  float largest[split_warps][HEADS], total[split_warps][HEADS];

  /// Brings the lane groups of each warp to one largest score, adds them up and leaves the sums here. The whole block
  /// calls, and may read them afterwards.
  __device__ __forceinline__ void gather(OnlineSoftmax<WIDTH, HEADS>& softmax) {
    constexpr int lanes = WIDTH / 8;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, d = lane % lanes * 4;
    for (int i = 0; i < HEADS; ++i) {
      const float of_warp = warp_max(softmax.largest[i]), shrink = __expf(softmax.largest[i] - of_warp);
      const float whole = sum_over<lanes, 32>(softmax.total[i] * shrink);
      for (float4& x : softmax.sum[i]) {
        x.x = sum_over<lanes, 32>(x.x * shrink);
        x.y = sum_over<lanes, 32>(x.y * shrink);
        x.z = sum_over<lanes, 32>(x.z * shrink);
        x.w = sum_over<lanes, 32>(x.w * shrink);
      }
      if (lane < lanes) {
        *reinterpret_cast<float4*>(&sums[warp][i][d]) = softmax.sum[i][0];
        *reinterpret_cast<float4*>(&sums[warp][i][d + WIDTH / 2]) = softmax.sum[i][1];
      }
      if (lane == 0) largest[warp][i] = of_warp, total[warp][i] = whole;
    }
    __syncthreads();
  }

  /// All heads over the whole block: work(i, stat, d, x) gets (largest score, total of weights) of head i and, by one
  /// of the threads for each d < D, the weighted sum x of values.
  template <bool ALIGNED, class Work>
  __device__ __forceinline__ void each_element(int heads, const LaneOfRow<ALIGNED>& row, const Work& work) const {
#pragma unroll
    for (int slot = threadIdx.x; slot < HEADS * WIDTH; slot += split_warps * 32) {
      const int i = slot / WIDTH, in_part = slot % (WIDTH / 2);
      const bool second = slot % WIDTH >= WIDTH / 2;
      if (i >= heads || in_part >= (second ? row.D - row.first : row.first)) continue;
      float2 stat = make_float2(largest[0][i], 0.0f);
      for (int w = 1; w < split_warps; ++w) stat.x = fmaxf(stat.x, largest[w][i]);
      float x = 0.0f;
      for (int w = 0; w < split_warps; ++w) {
        const float shrink = __expf(largest[w][i] - stat.x);
        stat.y += shrink * total[w][i];
        x += shrink * sums[w][i][slot % WIDTH];
      }
      work(i, stat, in_part + (second ? row.first : 0), x);
    }
  }
};

}  // namespace rungs
