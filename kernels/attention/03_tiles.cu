/// Rung 3: a block takes a tile of queries of one head and walks over the keys a tile at a time. Each key and value is
/// read from memory once for all queries of the tile, and each thread works on 4 queries by 4 keys, then on 4 queries
/// by WIDTH / 8 elements of the result, so that a number read from shared memory is used several times.
#include <cfloat>
#include <cmath>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/parts.cuh"

namespace rungs {

/// The sizes of one block: its threads stand in rows of 8, and row y has the queries y, y + queries / 4, ...
template <int WIDTH>
struct AttentionTile {
  static constexpr int queries = WIDTH > 128 ? 32 : 64, keys = WIDTH > 128 ? 16 : 32;
  static constexpr int rows = queries / 4, threads = rows * 8;
  // The pitches are such that threads that read together find different banks.
  static constexpr int pitch = WIDTH + 4, weights_pitch = keys + 8;
  static constexpr int floats = (queries + keys) * pitch + keys * WIDTH + queries * weights_pitch;
};

/// Copies `count` rows of D floats, `stride` apart in memory, into rows of PITCH floats; zeros beyond D, and in the
/// rows from `count` to ROWS.
template <int ROWS, int WIDTH, int PITCH, int THREADS, bool ALIGNED>
__device__ __forceinline__ void load_tile(float* tile, const float* rows, size_t stride, int count, int D) {
#pragma unroll
  for (int i = threadIdx.x; i < ROWS * WIDTH / 4; i += THREADS) {
    const int row = i / (WIDTH / 4), d = i % (WIDTH / 4) * 4;
    const float4 x = load4<ALIGNED>(rows + row * stride, d, row < count ? D : 0);
    *reinterpret_cast<float4*>(tile + row * PITCH + d) = x;
  }
}

/// out, q: (T, H, D); k, v: (S, G, D); D <= WIDTH.
template <int WIDTH, bool ALIGNED>
__global__ void __launch_bounds__(AttentionTile<WIDTH>::threads)
    attention_tiles(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                    float scale) {
  using Tile = AttentionTile<WIDTH>;
  constexpr int queries = Tile::queries, keys = Tile::keys, rows = Tile::rows, threads = Tile::threads;
  constexpr int pitch = Tile::pitch, weights_pitch = Tile::weights_pitch;
  DYNAMIC_SHARED(float, shared);
  float* q_tile = shared;                    // (queries, pitch)
  float* k_tile = q_tile + queries * pitch;  // (keys, pitch)
  float* v_tile = k_tile + keys * pitch;     // (keys, WIDTH)
  float* weights = v_tile + keys * WIDTH;    // (queries, weights_pitch)
  const int x = threadIdx.x % 8, y = threadIdx.x / 8;
  const int t0 = int(gridDim.x - 1 - blockIdx.x) * queries;  // the tiles that see most keys start first
  const int h = blockIdx.y, g = h / (H / G);

  load_tile<queries, WIDTH, pitch, threads, ALIGNED>(q_tile, q + (size_t(t0) * H + h) * D, size_t(H) * D, T - t0, D);
  float4 sum[4][WIDTH / 32] = {};  // Σ exp(score - largest) · v: 4 queries, elements 4x + 32c to 4x + 32c + 3
  float largest[4], total[4];      // of each query's keys so far; total only over this thread's own
  for (int i = 0; i < 4; ++i) {
    largest[i] = -FLT_MAX;
    total[i] = 0.0f;
  }

  const int seen = min(S, S - T + t0 + queries);  // the keys that the tile's last query may see
  for (int s0 = 0; s0 < seen; s0 += keys) {
    __syncthreads();  // all are done with the tiles before
    const size_t at = (size_t(s0) * G + g) * D, stride = size_t(G) * D;
    load_tile<keys, WIDTH, pitch, threads, ALIGNED>(k_tile, k + at, stride, S - s0, D);
    load_tile<keys, WIDTH, WIDTH, threads, ALIGNED>(v_tile, v + at, stride, S - s0, D);
    __syncthreads();

    // Scores of queries y + rows · i and keys x + 8j.
    float score[4][keys / 8] = {};
#pragma unroll 2
    for (int d = 0; d < D; d += 4) {
      float4 k4[keys / 8];
      for (int j = 0; j < keys / 8; ++j) k4[j] = *reinterpret_cast<const float4*>(k_tile + (x + 8 * j) * pitch + d);
      for (int i = 0; i < 4; ++i) {
        const float4 q4 = *reinterpret_cast<const float4*>(q_tile + (y + rows * i) * pitch + d);
        for (int j = 0; j < keys / 8; ++j) score[i][j] += dot4(q4, k4[j]);
      }
    }

    // Weights under the new largest score; the sums so far shrink to it.
    for (int i = 0; i < 4; ++i) {
      const int visible = S - T + t0 + y + rows * i + 1 - s0;  // of this tile's keys, for this query
      float new_largest = largest[i];
      for (int j = 0; j < keys / 8; ++j) {
        score[i][j] = x + 8 * j < visible ? score[i][j] * scale : -INFINITY;
        new_largest = fmaxf(new_largest, score[i][j]);
      }
      for (int lanes = 4; lanes > 0; lanes /= 2)  // the 8 threads of the row stand side by side in a warp
        new_largest = fmaxf(new_largest, __shfl_xor_sync(0xffffffffu, new_largest, lanes));
      const float shrink = __expf(largest[i] - new_largest);
      largest[i] = new_largest;
      total[i] *= shrink;
      for (int c = 0; c < WIDTH / 32; ++c) scale4(sum[i][c], shrink);
      for (int j = 0; j < keys / 8; ++j) {
        const float weight = __expf(score[i][j] - new_largest);  // 0 where the query may not look
        total[i] += weight;
        weights[(y + rows * i) * weights_pitch + x + 8 * j] = weight;
      }
    }
    __syncwarp();  // a row of weights is read by the 8 threads that wrote it

    for (int j = 0; j < keys; j += 4) {
      float4 weight[4];  // of keys j to j + 3
      for (int i = 0; i < 4; ++i)
        weight[i] = *reinterpret_cast<const float4*>(weights + (y + rows * i) * weights_pitch + j);
      for (int c = 0; c < WIDTH / 32; ++c) {
        const float* v_row = v_tile + j * WIDTH + 4 * x + 32 * c;
        const float4 v0 = *reinterpret_cast<const float4*>(v_row);
        const float4 v1 = *reinterpret_cast<const float4*>(v_row + WIDTH);
        const float4 v2 = *reinterpret_cast<const float4*>(v_row + 2 * WIDTH);
        const float4 v3 = *reinterpret_cast<const float4*>(v_row + 3 * WIDTH);
        for (int i = 0; i < 4; ++i) {
          add_scaled(sum[i][c], weight[i].x, v0);
          add_scaled(sum[i][c], weight[i].y, v1);
          add_scaled(sum[i][c], weight[i].z, v2);
          add_scaled(sum[i][c], weight[i].w, v3);
        }
      }
    }
  }

  for (int i = 0; i < 4; ++i) {
    for (int lanes = 4; lanes > 0; lanes /= 2) total[i] += __shfl_xor_sync(0xffffffffu, total[i], lanes);
    const int t = t0 + y + rows * i;
    if (t >= T) continue;
    float* out_row = out + (size_t(t) * H + h) * D;
    for (int c = 0; c < WIDTH / 32; ++c) {
      scale4(sum[i][c], 1.0f / total[i]);
      store4<ALIGNED>(out_row, 4 * x + 32 * c, D, sum[i][c]);
    }
  }
}

void attention_03(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                  cudaStream_t stream) {
  check_attention(T, S, H, G, D);
  const auto with = [&](auto width, auto aligned) {
    using Tile = AttentionTile<width()>;
    const dim3 grid(ceil_div(T, Tile::queries), H);
    launch(attention_tiles<width(), aligned()>, {grid, Tile::threads, Tile::floats * sizeof(float), stream}, out, q, k,
           v, T, S, H, G, D, 1.0f / std::sqrt(float(D)));
  };
  with_width_and_alignment(with, D, out, q, k, v);
}

}  // namespace rungs
