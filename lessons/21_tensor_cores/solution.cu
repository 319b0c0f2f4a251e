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

/// Four warps for 32 rows and 32 columns of c, a quarter each.
__global__ void tiles_kernel(float* c, const bf16* a, const bf16* b, int M, int N, int K) {
  __shared__ __align__(16) bf16 a_tile[tile][pitch], b_tile[tile][pitch];
  const int m0 = blockIdx.y * tile, n0 = blockIdx.x * tile;  // this block's corner of c
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int my_m = warp / 2 * 16, my_n = warp % 2 * 16;  // this warp's, in the tile

  float sum[2][4] = {};  // columns 0 to 7 of the quarter, and 8 to 15
  for (int k0 = 0; k0 < K; k0 += depth) {
    const int row = thread / 4, k = thread % 4 * 8;  // where this thread's 8 elements stand in a tile
    const int bytes = k0 + k < K ? 16 : 0;           // of them that there are; the rest becomes zeros
    // >>> begin to copy 8 elements of a and of b into the tiles; wait for the copies, then for all threads
    const size_t column = bytes ? k0 + k : 0;
    cp_async_16(&a_tile[row][k], a + size_t(min(m0 + row, M - 1)) * K + column, bytes);
    cp_async_16(&b_tile[row][k], b + size_t(min(n0 + row, N - 1)) * K + column, bytes);
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    // <<<

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
    // >>> let nobody overwrite the tiles that others still read
    __syncthreads();
    // <<<
  }

  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 4; ++i) {
      const int m = m0 + my_m + lane / 4 + i / 2 * 8, n = n0 + my_n + 8 * j + lane % 4 * 2 + i % 2;
      if (m < M && n < N) c[size_t(m) * N + n] = sum[j][i];
    }
}

void matmul_tiles(float* c, const bf16* a, const bf16* b, int M, int N, int K, cudaStream_t stream) {
  if (K % 8) throw ShapeError("matmul_tiles: wanted K to be a multiple of 8, found " + std::to_string(K));
  launch(tiles_kernel, {dim3(ceil_div(N, tile), ceil_div(M, tile)), 128, 0, stream}, c, a, b, M, N, K);
}

}  // namespace lesson_21
