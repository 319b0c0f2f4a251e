/// Rung 5: tensor cores. The tiles of rung 3, multiplied by mma.sync. A bf16 keeps 8 of the 24 bits of a float's
/// significand, so each float becomes the sum of three of them, which keep all: x = x0 + x1 + x2 and y alike give
/// x · y = x0 y0 + (x0 y1 + x1 y0) + (x0 y2 + x1 y1 + x2 y0) + what a float would not hold either. Six products of bf16
/// are still less work than one of f32. The scores come out of one product in the lanes that the next wants them in, so
/// the weights never leave the registers. With one part, which is x rounded, a product is one of bf16: what a model of
/// bf16 weights is worth, whose q, k and v come out of rounded products anyway.
#include <cfloat>
#include <cmath>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/parts.cuh"
#include "kernels/tensor_core.cuh"

namespace rungs {

namespace {

constexpr int tile_queries = 64, tile_keys = 32;
constexpr int warps = tile_queries / 16, threads = warps * 32;

constexpr int padding = 8;  // of a row in shared memory: 8 rows below each other are in 8 different groups of banks

/// x and y as bf16, x in the lower half; x and y become what that leaves.
__device__ __forceinline__ uint32_t split_pair(float& x, float& y) {
  const uint32_t x_bits = nearest_bf16(x).bits, y_bits = uint32_t(nearest_bf16(y).bits) << 16;
  x -= __uint_as_float(x_bits << 16);
  y -= __uint_as_float(y_bits);
  return x_bits | y_bits;
}

/// tile_keys rows of WIDTH floats on their way to shared memory, in the registers of the block.
template <int PARTS, int WIDTH, bool ALIGNED>
struct RowsInFlight {
  static constexpr int per_thread = tile_keys * WIDTH / 4 / threads;
  float4 x[per_thread];

  static __device__ int row(int i) { return (i * threads + threadIdx.x) / (WIDTH / 4); }
  static __device__ int column(int i) { return (i * threads + threadIdx.x) % (WIDTH / 4) * 4; }

  /// Begins to read rows of D floats, `stride` apart; zeros from row `count` on.
  __device__ __forceinline__ void read(const float* rows, size_t stride, int count, int D) {
#pragma unroll
    for (int i = 0; i < per_thread; ++i)
      x[i] = load4<ALIGNED>(rows + row(i) * stride, column(i), row(i) < count ? D : 0);
  }

  /// Writes their parts to tile (PARTS, ROWS, WIDTH + padding), from row `first` on.
  template <int ROWS>
  __device__ __forceinline__ void write(bf16* tile, int first) {
#pragma unroll
    for (int i = 0; i < per_thread; ++i)
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
        bf16* to = tile + (part * ROWS + first + row(i)) * (WIDTH + padding) + column(i);
        const uint32_t low = split_pair(x[i].x, x[i].y);
        *reinterpret_cast<uint2*>(to) = make_uint2(low, split_pair(x[i].z, x[i].w));
      }
  }
};

/// sum[0], sum[1] (16, 8) += a (16, 16) · the left and right half of b (16, 16), all parts; the small products first.
template <int PARTS>
__device__ __forceinline__ void multiply_parts(float (&left)[4], float (&right)[4], const uint32_t (&a)[PARTS][4],
                                               const uint32_t (&b)[PARTS][4]) {
#pragma unroll
  for (int small = PARTS - 1; small >= 0; --small)
#pragma unroll
    for (int part = 0; part <= small; ++part) {
      mma_m16n8k16(left, a[part], {b[small - part][0], b[small - part][1]});
      mma_m16n8k16(right, a[part], {b[small - part][2], b[small - part][3]});
    }
}

}  // namespace

/// out, q: (T, H, D); k, v: (S, G, D); D <= WIDTH. Each warp has 16 queries; in fragments of scores and results, a lane
/// has two neighbours in row lane / 4 and two in the row 8 below.
template <int PARTS, int WIDTH, bool ALIGNED>
__global__ void __launch_bounds__(threads, 2)
    attention_mma_sync(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                       float scale) {
  constexpr int pitch = WIDTH + padding;
  DYNAMIC_SHARED(bf16, shared);
  bf16* q_tile = shared;                                  // (part, query, pitch)
  bf16* kv_tile = shared + PARTS * tile_queries * pitch;  // (part, key, pitch): keys, then values
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int t0 = int(gridDim.x - 1 - blockIdx.x) * tile_queries;  // the tiles that see most keys start first
  const int h = blockIdx.y, g = h / (H / G);
  const size_t q_stride = size_t(H) * D, stride = size_t(G) * D;
  k += size_t(g) * D;  // k[0, g, :]
  v += size_t(g) * D;

  RowsInFlight<PARTS, WIDTH, ALIGNED> rows;
  for (int row = 0; row < tile_queries; row += tile_keys) {
    const int t = t0 + row;
    rows.read(q + (size_t(min(t, T - 1)) * H + h) * D, q_stride, T - t, D);
    rows.template write<tile_queries>(q_tile, row);
  }
  rows.read(k, stride, S, D);

  float sum[WIDTH / 8][4] = {};                            // Σ exp(score - largest) · v: 16 queries, 8 elements each
  float largest[2] = {-FLT_MAX, -FLT_MAX}, total[2] = {};  // of the lane's two rows; total of its own keys
  const int seen = min(S, S - T + t0 + tile_queries);      // the keys that the tile's last query may see
  for (int s0 = 0; s0 < seen; s0 += tile_keys) {
    __syncthreads();  // all are done with the values before
    rows.template write<tile_keys>(kv_tile, 0);
    rows.read(v + s0 * stride, stride, S - s0, D);  // they arrive while the scores are computed
    __syncthreads();

    float score[tile_keys / 8][4] = {};
#pragma unroll 2
    for (int d = 0; d < WIDTH; d += 16) {
      uint32_t query[PARTS][4];
      for (int part = 0; part < PARTS; ++part)
        ldmatrix_x4(query[part], q_tile + (part * tile_queries + warp * 16 + lane % 16) * pitch + d + lane / 16 * 8);
#pragma unroll
      for (int j = 0; j < tile_keys / 8; j += 2) {
        uint32_t key[PARTS][4];
        for (int part = 0; part < PARTS; ++part)
          ldmatrix_x4(key[part],
                      kv_tile + (part * tile_keys + j * 8 + lane / 16 * 8 + lane % 8) * pitch + d + lane / 8 % 2 * 8);
        multiply_parts(score[j], score[j + 1], query, key);
      }
    }

    // Weights under the new largest score; the sums so far shrink to it.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int visible = S - T + t0 + warp * 16 + half * 8 + lane / 4 + 1 - s0;  // of this tile's keys, for this row
      float new_largest = largest[half];
#pragma unroll
      for (int j = 0; j < tile_keys / 8; ++j)
        for (int e = 0; e < 2; ++e) {
          float& x = score[j][2 * half + e];
          x = j * 8 + lane % 4 * 2 + e < visible ? x * scale : -INFINITY;
          new_largest = fmaxf(new_largest, x);
        }
      for (int lanes = 2; lanes > 0; lanes /= 2)  // four lanes share a row
        new_largest = fmaxf(new_largest, __shfl_xor_sync(0xffffffffu, new_largest, lanes));
      const float shrink = __expf(largest[half] - new_largest);
      largest[half] = new_largest;
      total[half] *= shrink;
#pragma unroll
      for (int j = 0; j < WIDTH / 8; ++j)
        for (int e = 0; e < 2; ++e) sum[j][2 * half + e] *= shrink;
#pragma unroll
      for (int j = 0; j < tile_keys / 8; ++j)
        for (int e = 0; e < 2; ++e) {
          float& x = score[j][2 * half + e];
          x = __expf(x - new_largest);  // 0 where the query may not look
          total[half] += x;
        }
    }

    __syncthreads();  // all are done with the keys
    rows.template write<tile_keys>(kv_tile, 0);
    if (s0 + tile_keys < seen) rows.read(k + (s0 + tile_keys) * stride, stride, S - s0 - tile_keys, D);
    __syncthreads();

#pragma unroll
    for (int j = 0; j < tile_keys / 8; j += 2) {  // 16 keys
      uint32_t weight[PARTS][4];                  // two fragments of 16 x 8 scores are one of 16 x 16 weights
      for (int part = 0; part < PARTS; ++part)
        for (int i = 0; i < 4; ++i)
          weight[part][i] = split_pair(score[j + i / 2][i % 2 * 2], score[j + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int c = 0; c < WIDTH / 8; c += 2) {
        uint32_t value[PARTS][4];
        for (int part = 0; part < PARTS; ++part)
          ldmatrix_x4_trans(value[part],
                            kv_tile + (part * tile_keys + j * 8 + lane % 16) * pitch + c * 8 + lane / 16 * 8);
        multiply_parts(sum[c], sum[c + 1], weight, value);
      }
    }
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    for (int lanes = 2; lanes > 0; lanes /= 2) total[half] += __shfl_xor_sync(0xffffffffu, total[half], lanes);
    const int t = t0 + warp * 16 + half * 8 + lane / 4;
    if (t >= T) continue;
    float* out_row = out + (size_t(t) * H + h) * D;
#pragma unroll
    for (int c = 0; c < WIDTH / 8; ++c) {
      const int d = c * 8 + lane % 4 * 2;
      const float x = sum[c][2 * half] / total[half], y = sum[c][2 * half + 1] / total[half];
      if (ALIGNED && d < D) {
        *reinterpret_cast<float2*>(out_row + d) = make_float2(x, y);
      } else {
        if (d < D) out_row[d] = x;
        if (d + 1 < D) out_row[d + 1] = y;
      }
    }
  }
}

namespace {

template <int PARTS>
void launch_in_parts(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                     cudaStream_t stream) {
  // The results of wider heads would not fit into the registers.
  if (D > 128) return attention_03(out, q, k, v, T, S, H, G, D, stream);
  check_attention(T, S, H, G, D);
  const auto with = [&](auto width, auto aligned) {
    if constexpr (width() <= 128) {
      constexpr size_t bytes = PARTS * (tile_queries + tile_keys) * (width() + padding) * sizeof(bf16);
      const dim3 grid(ceil_div(T, tile_queries), H);
      launch(attention_mma_sync<PARTS, width(), aligned()>, {grid, threads, bytes, stream}, out, q, k, v, T, S, H, G, D,
             1.0f / std::sqrt(float(D)));
    }
  };
  with_width_and_alignment(with, D, out, q, k, v);
}

}  // namespace

void attention_05(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                  cudaStream_t stream) {
  launch_in_parts<3>(out, q, k, v, T, S, H, G, D, stream);
}

void attention_05_rounded(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                          cudaStream_t stream) {
  launch_in_parts<1>(out, q, k, v, T, S, H, G, D, stream);
}

}  // namespace rungs
