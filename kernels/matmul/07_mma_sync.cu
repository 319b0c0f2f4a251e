/// Rung 7: tensor cores by hand. Asynchronous copies bring tiles into a ring of stages in shared memory, several steps
/// ahead; ldmatrix takes fragments out of it; mma.sync multiplies them. The pieces of a row are permuted (the swizzle),
/// so that neither the copies nor ldmatrix meet a bank twice, with no padding.
#include "kernels/launch.cuh"
#include "kernels/matmul/bf16_rows.cuh"
#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/tile_order.cuh"
#include "kernels/tensor_core.cuh"

namespace rungs {

namespace {

constexpr int tile_m = 128, depth = 64, stages = 3;
constexpr int pieces = depth / 8;  // of 16 bytes, in a row of a stage
constexpr int warp_side = 64;      // a warp computes 64 x 64 elements of c

/// Where piece `piece` of row `row` stands in a stage. 8 rows below each other, or 8 pieces side by side, are in 8
/// different groups of four banks.
__device__ int place(int row, int piece) { return row * pieces + (piece ^ row % 8); }

}  // namespace

/// c: (M, N); a: (M, parts · K); b: (N, K). A block has a warp for each 64 x 64 of its tile_m x tile_n elements.
template <int tile_n, bool aligned>
__global__ void __launch_bounds__(tile_m* tile_n / (warp_side * warp_side) * 32, 1)
    matmul_mma_sync(float* c, const bf16* a, const bf16* b, int M, int N, int K, int parts) {
  constexpr int threads = tile_m * tile_n / (warp_side * warp_side) * 32;
  constexpr int rows = tile_m + tile_n;  // of a stage: first those of a, then those of b
  DYNAMIC_SHARED(uint4, ring);           // (stage, row, piece)
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const TilePlace tile = tile_place(blockIdx.x, (M + tile_m - 1) / tile_m, (N + tile_n - 1) / tile_n);
  const int m0 = tile.m * tile_m, n0 = tile.n * tile_n;  // this block's corner of c

  // A thread copies the same piece of every rows_at_once-th row, so that its addresses are a fixed step apart.
  constexpr int rows_at_once = threads / pieces;
  static_assert(rows_at_once % 8 == 0);  // place() looks at a row's last three bits
  [[maybe_unused]] constexpr int unrolled = aligned ? tile_n / rows_at_once : 1;  // element by element is too much code
  const int my_row = thread / pieces, my_piece = thread % pieces * 8;
  const bf16* const my_a = a + size_t(m0 + my_row) * parts * K + my_piece;
  const bf16* const my_b = b + size_t(n0 + my_row) * K + my_piece;
  uint4* const my_place = ring + place(my_row, thread % pieces);

  // Step s multiplies columns k0 to k0 + depth of part s / steps of a with the same columns of b.
  const int steps = (K + depth - 1) / depth;
  const auto load_step = [&](int s) {
    const int part = s / steps, k0 = s % steps * depth;
    uint4* to = my_place + s % stages * rows * pieces;
    const auto copy = [&](const bf16* from, bool row_is_there) {
      if constexpr (aligned) {
        const bool there = row_is_there && k0 + my_piece < K;  // else 0 bytes are read, and zeros arrive
        cp_async_16(to, there ? from + k0 : b, there ? 16 : 0);
      } else {
        *to = eight_of<false>(row_is_there ? from - my_piece : nullptr, k0 + my_piece, K);
      }
      to += threads;
    };
#pragma unroll unrolled
    for (int row = 0; row < tile_m; row += rows_at_once)
      copy(my_a + part * K + size_t(row) * parts * K, m0 + my_row + row < M);
#pragma unroll unrolled
    for (int row = 0; row < tile_n; row += rows_at_once) copy(my_b + size_t(row) * K, n0 + my_row + row < N);
  };

  const int my_m = warp % (tile_m / warp_side) * warp_side;           // this warp's rows of a in a stage
  const int my_n = tile_m + warp / (tile_m / warp_side) * warp_side;  // and of b
  float sum[warp_side / 16][warp_side / 8][4] = {};                   // fragments of 16 x 8

  // Fragments of 16 columns, which are two pieces: four 8 x 8 matrices each. Of a, rows 0-7 and 8-15 of the left piece,
  // then of the right; of b, both pieces of rows 0-7, then of rows 8-15. Lane l says where row l % 8 of matrix l / 8
  // begins.
  uint32_t of_a[2][warp_side / 16][4], of_b[warp_side / 16][4];
  const auto load_a = [&](uint32_t(&to)[warp_side / 16][4], const uint4* stage, int piece) {
    for (int i = 0; i < warp_side / 16; ++i)
      ldmatrix_x4(to[i], &stage[place(my_m + i * 16 + lane % 16, piece + lane / 16)]);
  };
  const auto load_b = [&](int j, const uint4* stage, int piece) {
    ldmatrix_x4(of_b[j], &stage[place(my_n + j * 16 + lane / 16 * 8 + lane % 8, piece + lane / 8 % 2)]);
  };
  const auto stage_of = [&](int s) { return ring + s % stages * rows * pieces; };
  const auto wait_for_step = [&] {
    cp_async_wait<stages - 2>();  // this thread's copies of the next step have arrived
    __syncthreads();              // and everybody's; and nobody reads the stage of the step before any more
  };

  const int all = parts * steps;
  for (int s = 0; s < stages - 1; ++s) {
    if (s < all) load_step(s);
    cp_async_commit();
  }
  wait_for_step();
  if (all > 0) {
    load_a(of_a[0], ring, 0);
    for (int j = 0; j < warp_side / 16; ++j) load_b(j, ring, 0);
  }
  for (int s = 0; s < all; ++s) {
#pragma unroll
    for (int piece = 0; piece < pieces; piece += 2) {
      // The fragments after these are on their way while the tensor cores work: those of a in registers of their own,
      // those of b in the registers of each that was used for the last time.
      const bool last = piece + 2 == pieces;
      if (last) wait_for_step();
      const uint4* const stage = stage_of(last ? s + 1 : s);
      const int next = last ? 0 : piece + 2, now = piece / 2 % 2;
      const bool there = !last || s + 1 < all;
      if (there) load_a(of_a[1 - now], stage, next);
      for (int j = 0; j < warp_side / 16; ++j) {
        for (int i = 0; i < warp_side / 16; ++i) {
          mma_m16n8k16(sum[i][2 * j], of_a[now][i], {of_b[j][0], of_b[j][1]});
          mma_m16n8k16(sum[i][2 * j + 1], of_a[now][i], {of_b[j][2], of_b[j][3]});
        }
        if (there) load_b(j, stage, next);
      }
      if (piece == 0) {
        if (s + stages - 1 < all) load_step(s + stages - 1);
        cp_async_commit();  // a group for every step, empty ones too, so that the wait counts right
      }
    }
  }

  // A lane has two neighbours of row lane / 4 and two of the row 8 below in each fragment.
#pragma unroll
  for (int i = 0; i < warp_side / 16; ++i)
#pragma unroll
    for (int j = 0; j < warp_side / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int m = m0 + my_m + i * 16 + half * 8 + lane / 4, n = n0 + my_n - tile_m + j * 8 + lane % 4 * 2;
        if (m >= M || n >= N) continue;
        float* const out = c + size_t(m) * N + n;
        if (N % 2 == 0 && aligned) {
          *reinterpret_cast<float2*>(out) = make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
        } else {
          out[0] = sum[i][j][2 * half];
          if (n + 1 < N) out[1] = sum[i][j][2 * half + 1];
        }
      }
}

/// out: (M, parts · K); x: (M, K). A thread takes `width` neighbours.
template <int width>
__global__ void split_bf16_elements(bf16* out, const float* x, int M, int K, int parts) {
  const int per_row = K / width;
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= size_t(M) * per_row) return;
  const size_t m = i / per_row;
  const int k = int(i % per_row) * width;
  store_split<width>(out + m * parts * K, K, k, load<width>(x + m * K + k), parts);
}

namespace {

constexpr size_t ring_bytes(int tile_n) { return sizeof(bf16) * stages * depth * size_t(tile_m + tile_n); }

template <int tile_n, bool aligned>
void launch_mma_sync(float* c, const bf16* a, const bf16* b, int M, int N, int K, int parts, cudaStream_t stream) {
  constexpr int threads = tile_m * tile_n / (warp_side * warp_side) * 32;
  const unsigned tiles = unsigned(ceil_div(M, tile_m)) * unsigned(ceil_div(N, tile_n));
  launch(matmul_mma_sync<tile_n, aligned>, {tiles, threads, ring_bytes(tile_n), stream}, c, a, b, M, N, K, parts);
}

}  // namespace

void matmul_07(float* c, const bf16* a, const bf16* b, int M, int N, int K, int parts, cudaStream_t stream) {
  if (M == 0 || N == 0) return;
  // A wide tile reads less, where it fits (not on an RTX 4090) and no multiprocessor is left without one.
  const bool fits = size_t(attribute_of_device(cudaDevAttrMaxSharedMemoryPerBlockOptin)) >= ring_bytes(256);
  const int wide_tiles = ceil_div(M, tile_m) * ceil_div(N, 256);
  if (K % 8 != 0 || !aligned_to(8, a, b) || !aligned_to(2, c))
    launch_mma_sync<128, false>(c, a, b, M, N, K, parts, stream);
  else if (!fits || wide_tiles < attribute_of_device(cudaDevAttrMultiProcessorCount))
    launch_mma_sync<128, true>(c, a, b, M, N, K, parts, stream);
  else
    launch_mma_sync<256, true>(c, a, b, M, N, K, parts, stream);
}

void split_bf16(bf16* out, const float* x, int M, int K, int parts, cudaStream_t stream) {
  if (M == 0 || K == 0) return;
  constexpr size_t threads = 256;
  const bool by_4 = rows_of_4(K, out, x);
  const auto kernel = by_4 ? split_bf16_elements<4> : split_bf16_elements<1>;
  launch(kernel, {unsigned(ceil_div(size_t(M) * K / (by_4 ? 4 : 1), threads)), threads, 0, stream}, out, x, M, K,
         parts);
}

}  // namespace rungs
