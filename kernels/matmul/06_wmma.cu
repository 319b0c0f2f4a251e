/// Rung 6: tensor cores. A warp multiplies fragments of 16 x 16 x 16 in one instruction, bf16 times bf16 summed in f32;
/// which lane holds which element is the compiler's business. The tiles are those of rung 5, and so is the block's
/// work.
#include <mma.h>

#include "kernels/launch.cuh"
#include "kernels/matmul/bf16_rows.cuh"
#include "kernels/matmul/matmul.hpp"

namespace rungs {

namespace {

constexpr int tile = 128, depth = 32, threads = 256;
constexpr int pitch = depth + 8;         // of a row in shared memory: 8 rows of a fragment begin in different banks
constexpr int warp_m = 64, warp_n = 32;  // the part of the tile that is a warp's: 2 x 4 warps
constexpr int side = 16;                 // of a fragment

}  // namespace

/// c: (M, N); a: (M, K); b: (N, K).
template <bool aligned>
__global__ void __launch_bounds__(threads) matmul_wmma(float* c, const bf16* a, const bf16* b, int M, int N, int K) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) __nv_bfloat16 a_tile[tile][pitch];       // (m, k)
  __shared__ __align__(32) __nv_bfloat16 b_tile[tile][pitch];       // (n, k)
  __shared__ __align__(32) float c_tile[threads / 32][side][side];  // one fragment of each warp, on its way out
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int m0 = blockIdx.y * tile, n0 = blockIdx.x * tile;      // this block's corner of c
  const int my_m = warp / 4 * warp_m, my_n = warp % 4 * warp_n;  // this warp's, in the tile

  fragment<accumulator, side, side, side, float> sum[warp_m / side][warp_n / side];
  for (auto& row : sum)
    for (auto& s : row) fill_fragment(s, 0.0f);

  for (int k0 = 0; k0 < K; k0 += depth) {
    for (int i = thread; i < tile * depth / 8; i += threads) {
      const int row = i / (depth / 8), k = i % (depth / 8) * 8;
      const bf16* const a_row = m0 + row < M ? a + size_t(m0 + row) * K : nullptr;
      const bf16* const b_row = n0 + row < N ? b + size_t(n0 + row) * K : nullptr;
      *reinterpret_cast<uint4*>(&a_tile[row][k]) = eight_of<aligned>(a_row, k0 + k, K);
      *reinterpret_cast<uint4*>(&b_tile[row][k]) = eight_of<aligned>(b_row, k0 + k, K);
    }
    __syncthreads();

    for (int k = 0; k < depth; k += side) {
      fragment<matrix_a, side, side, side, __nv_bfloat16, row_major> column[warp_m / side];
      fragment<matrix_b, side, side, side, __nv_bfloat16, col_major> row[warp_n / side];
      for (int i = 0; i < warp_m / side; ++i) load_matrix_sync(column[i], &a_tile[my_m + i * side][k], pitch);
      for (int j = 0; j < warp_n / side; ++j) load_matrix_sync(row[j], &b_tile[my_n + j * side][k], pitch);
      for (int i = 0; i < warp_m / side; ++i)
        for (int j = 0; j < warp_n / side; ++j) mma_sync(sum[i][j], column[i], row[j], sum[i][j]);
    }
    __syncthreads();
  }

  // Through shared memory, because the edge of c may cut a fragment.
  for (int i = 0; i < warp_m / side; ++i)
    for (int j = 0; j < warp_n / side; ++j) {
      store_matrix_sync(&c_tile[warp][0][0], sum[i][j], side, mem_row_major);
      __syncwarp();
      for (int e = lane; e < side * side; e += 32) {
        const int m = m0 + my_m + i * side + e / side, n = n0 + my_n + j * side + e % side;
        if (m < M && n < N) c[size_t(m) * N + n] = c_tile[warp][e / side][e % side];
      }
      __syncwarp();
    }
}

void matmul_06(float* c, const bf16* a, const bf16* b, int M, int N, int K, cudaStream_t stream) {
  if (M == 0 || N == 0) return;
  const bool aligned = K % 8 == 0 && aligned_to(8, a, b);
  const auto kernel = aligned ? matmul_wmma<true> : matmul_wmma<false>;
  launch(kernel, {dim3(ceil_div(N, tile), ceil_div(M, tile)), threads, 0, stream}, c, a, b, M, N, K);
}

}  // namespace rungs
