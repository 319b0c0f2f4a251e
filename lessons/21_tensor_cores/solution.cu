#include <string>

#include "kernels/tensor_core.cuh"
#include "lesson.hpp"

namespace lesson_21 {

/// Elements k and k + 1 of a row as one register, the first in its lower half; zero past the end.  row: (K)
__device__ uint32_t pair_of(const bf16* row, int k, int K) {
  const uint32_t low = k < K ? row[k].bits : 0, high = k + 1 < K ? row[k + 1].bits : 0;
  return low | high << 16;
}

/// One warp for 16 rows and 8 columns of c. Lane l is number l % 4 in group l / 4: where its elements stand follows
/// from these two.
__global__ void fragments_kernel(float* c, const bf16* a, const bf16* b, int M, int N, int K) {
  const int m0 = blockIdx.y * 16, n0 = blockIdx.x * 8;                // this warp's corner of c
  const int group = threadIdx.x / 4, number = threadIdx.x % 4;        // of this lane
  const bf16* a_top = a + size_t(min(m0 + group, M - 1)) * K;         // a[m0 + group, :]; past the end the last row,
  const bf16* a_bottom = a + size_t(min(m0 + group + 8, M - 1)) * K;  // whose sums nobody writes
  const bf16* b_n = b + size_t(min(n0 + group, N - 1)) * K;           // b[n0 + group, :]

  float sum[4] = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    uint32_t a_fragment[4], b_fragment[2];
    // >>> this lane's four pairs of a: top and bottom row at k0 + 2 · number, then top and bottom at 8 columns further
    a_fragment[0] = pair_of(a_top, k0 + 2 * number, K);
    a_fragment[1] = pair_of(a_bottom, k0 + 2 * number, K);
    a_fragment[2] = pair_of(a_top, k0 + 2 * number + 8, K);
    a_fragment[3] = pair_of(a_bottom, k0 + 2 * number + 8, K);
    // <<<

    // >>> this lane's two pairs of b, at the same places of its row
    b_fragment[0] = pair_of(b_n, k0 + 2 * number, K);
    b_fragment[1] = pair_of(b_n, k0 + 2 * number + 8, K);
    // <<<

    // >>> sum += the product of the two fragments, in one instruction
    mma_m16n8k16(sum, a_fragment, b_fragment);
    // <<<
  }

  // >>> write the four sums where c has such elements: rows group and group + 8, columns 2 · number and the next
  for (int i = 0; i < 4; ++i) {
    const int m = m0 + group + i / 2 * 8, n = n0 + 2 * number + i % 2;
    if (m < M && n < N) c[size_t(m) * N + n] = sum[i];
  }
  // <<<
}

void matmul_fragments(float* c, const bf16* a, const bf16* b, int M, int N, int K, cudaStream_t stream) {
  launch(fragments_kernel, {dim3(ceil_div(N, 8), ceil_div(M, 16)), 32, 0, stream}, c, a, b, M, N, K);
}

constexpr int tile = 32, depth = 32;  // rows of a and of b in shared memory, and elements of each
constexpr int pitch = depth + 8;      // so that the 8 rows of a small matrix begin in different banks
using Tile = bf16[tile][pitch];

/// What a block of tiles_kernel or pipeline_kernel multiplies, and which part of c it makes.
struct Product {
  const bf16 *a, *b;  // (M, K), (N, K)
  int M, N, K;
  int m0, n0;  // the block's corner of c
};

/// Begins to copy columns k0 to k0 + depth of the block's rows of a and b into the tiles: 8 elements of each by every
/// thread.
__device__ void begin_copies(Tile& a_tile, Tile& b_tile, const Product& p, int k0) {
  const int row = threadIdx.x / 4, k = threadIdx.x % 4 * 8;  // where this thread's 8 elements stand in a tile
  const int bytes = k0 + k < p.K ? 16 : 0;                   // of them that there are; the rest becomes zeros
  // >>> begin to copy this thread's 8 elements of a and of b into the tiles
  const size_t column = bytes ? k0 + k : 0;
  cp_async_16(&a_tile[row][k], p.a + size_t(min(p.m0 + row, p.M - 1)) * p.K + column, bytes);
  cp_async_16(&b_tile[row][k], p.b + size_t(min(p.n0 + row, p.N - 1)) * p.K + column, bytes);
  // <<<
}

/// Adds the products of two tiles to the sums of this warp's quarter: columns 0 to 7 of it, and 8 to 15.
__device__ void multiply_tiles(float (&sum)[2][4], Tile& a_tile, Tile& b_tile) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int my_m = warp / 2 * 16, my_n = warp % 2 * 16;  // this warp's, in the tile
  for (int step = 0; step < depth; step += 16) {
    uint32_t a_fragment[4], b_fragments[4];
    // >>> load four 8 x 8 matrices of a and four of b: lane l gives the address of row l % 8 of matrix l / 8
    ldmatrix_x4(a_fragment, &a_tile[my_m + lane % 16][step + lane / 16 * 8]);
    ldmatrix_x4(b_fragments, &b_tile[my_n + lane / 16 * 8 + lane % 8][step + lane / 8 % 2 * 8]);
    // <<<

    // >>> two products: the first two registers of b belong to columns 0 to 7, the others to 8 to 15
    const uint32_t left[2] = {b_fragments[0], b_fragments[1]}, right[2] = {b_fragments[2], b_fragments[3]};
    mma_m16n8k16(sum[0], a_fragment, left);
    mma_m16n8k16(sum[1], a_fragment, right);
    // <<<
  }
}

/// Writes the sums of this warp's quarter, where c has such elements.  c: (M, N)
__device__ void write_sums(float* c, const float (&sum)[2][4], const Product& p) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 4; ++i) {
      const int m = p.m0 + warp / 2 * 16 + lane / 4 + i / 2 * 8;
      const int n = p.n0 + warp % 2 * 16 + 8 * j + lane % 4 * 2 + i % 2;
      if (m < p.M && n < p.N) c[size_t(m) * p.N + n] = sum[j][i];
    }
}

/// Four warps for 32 rows and 32 columns of c, a quarter each.
__global__ void tiles_kernel(float* c, const bf16* a, const bf16* b, int M, int N, int K) {
  __shared__ __align__(16) Tile a_tile, b_tile;
  const Product p{a, b, M, N, K, int(blockIdx.y) * tile, int(blockIdx.x) * tile};
  float sum[2][4] = {};
  for (int k0 = 0; k0 < K; k0 += depth) {
    begin_copies(a_tile, b_tile, p, k0);
    // >>> close the group of copies; wait for it, then for all threads
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    // <<<
    multiply_tiles(sum, a_tile, b_tile);
    // >>> let nobody overwrite the tiles that others still read
    __syncthreads();
    // <<<
  }
  write_sums(c, sum, p);
}

void matmul_tiles(float* c, const bf16* a, const bf16* b, int M, int N, int K, cudaStream_t stream) {
  if (K % 8) throw ShapeError("matmul_tiles: wanted K to be a multiple of 8, found " + std::to_string(K));
  launch(tiles_kernel, {dim3(ceil_div(N, tile), ceil_div(M, tile)), 128, 0, stream}, c, a, b, M, N, K);
}

constexpr int stages = 2;  // pairs of tiles: one is multiplied while the other is filled

/// The same, and the copies of the next tiles are on their way during the products of these.
__global__ void pipeline_kernel(float* c, const bf16* a, const bf16* b, int M, int N, int K) {
  __shared__ __align__(16) Tile a_tile[stages], b_tile[stages];  // tiles t are in stage t % stages
  const Product p{a, b, M, N, K, int(blockIdx.y) * tile, int(blockIdx.x) * tile};
  const int tiles = ceil_div(K, depth);  // along K
  float sum[2][4] = {};
  // >>> begin the copies of the first tiles, a group of their own
  begin_copies(a_tile[0], b_tile[0], p, 0);
  cp_async_commit();
  // <<<
  for (int t = 0; t < tiles; ++t) {
    // >>> begin the copies of the tiles after these, where there are such; close their group, also where it is empty
    const int next = t + 1;
    if (next < tiles) begin_copies(a_tile[next % stages], b_tile[next % stages], p, next * depth);
    cp_async_commit();
    // <<<

    // >>> wait for all groups but the youngest, then for all threads; multiply tiles t
    cp_async_wait<1>();
    __syncthreads();
    multiply_tiles(sum, a_tile[t % stages], b_tile[t % stages]);
    // <<<

    // >>> let nobody overwrite the tiles that others still read
    __syncthreads();
    // <<<
  }
  write_sums(c, sum, p);
}

void matmul_pipeline(float* c, const bf16* a, const bf16* b, int M, int N, int K, cudaStream_t stream) {
  if (K % 8) throw ShapeError("matmul_pipeline: wanted K to be a multiple of 8, found " + std::to_string(K));
  launch(pipeline_kernel, {dim3(ceil_div(N, tile), ceil_div(M, tile)), 128, 0, stream}, c, a, b, M, N, K);
}

}  // namespace lesson_21
