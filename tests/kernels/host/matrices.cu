#include <cuda_pipeline_primitives.h>
#include <mma.h>

#include "host_kernels.hpp"
#include "kernels/tensor_core.cuh"

namespace rungs::test {

/// matrices: four of 8 x 8, in rows. out: 4 registers of each lane.
__global__ void load_four(uint32_t* out, const uint16_t* matrices, bool transposed) {
  __shared__ __align__(16) uint16_t tile[4 * 64];
  for (int i = int(threadIdx.x); i < 4 * 64; i += 32) tile[i] = matrices[i];
  __syncthreads();
  uint32_t registers[4];
  if (transposed)
    ldmatrix_x4_trans(registers, tile + 8 * threadIdx.x);
  else
    ldmatrix_x4(registers, tile + 8 * threadIdx.x);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + unsigned(i)] = registers[i];
}

/// Fragments are filled as kernels/tensor_core.cuh says, one element after the other.
__global__ void multiply_16_8_16(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b) {
  const int g = int(threadIdx.x) / 4, t = int(threadIdx.x) % 4;
  const auto pair = [](__nv_bfloat16 low, __nv_bfloat16 high) {
    return uint32_t(low.bits) | uint32_t(high.bits) << 16;
  };
  const auto of_a = [&](int row, int column) { return pair(a[row * 16 + column], a[row * 16 + column + 1]); };
  const auto of_b = [&](int row) { return pair(b[row * 8 + g], b[(row + 1) * 8 + g]); };
  const uint32_t fragment_a[4] = {of_a(g, 2 * t), of_a(g + 8, 2 * t), of_a(g, 2 * t + 8), of_a(g + 8, 2 * t + 8)};
  const uint32_t fragment_b[2] = {of_b(2 * t), of_b(2 * t + 8)};
  float sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = c[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
  mma_m16n8k16(sum, fragment_a, fragment_b);
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = sum[i];
}

template <class T, bool columns>
__global__ void multiply_wmma(float* d, const T* a, const T* b, const float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, T, row_major> fragment_a;
  fragment<matrix_b, 16, 16, 16, T, std::conditional_t<columns, col_major, row_major>> fragment_b;
  fragment<accumulator, 16, 16, 16, float> sum;
  load_matrix_sync(fragment_a, a, 16);
  load_matrix_sync(fragment_b, b, 16);
  load_matrix_sync(sum, c, 16, mem_row_major);
  mma_sync(sum, fragment_a, fragment_b, sum);
  store_matrix_sync(d, sum, 16, columns ? mem_col_major : mem_row_major);
}
template __global__ void multiply_wmma<__half, false>(float*, const __half*, const __half*, const float*);
template __global__ void multiply_wmma<__nv_bfloat16, true>(float*, const __nv_bfloat16*, const __nv_bfloat16*,
                                                            const float*);

__global__ void copy_async(float* out, const float* x, int valid, bool wait) {
  __shared__ __align__(16) float tile[4 * 32];
  cp_async_16(tile + 4 * threadIdx.x, x + 4 * threadIdx.x, valid);
  cp_async_commit();
  if (wait) cp_async_wait<0>();
  __syncthreads();
  for (unsigned i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = tile[(4 * threadIdx.x + i + 64) % 128];
  __syncthreads();
  cp_async_wait<0>();
}

/// After the first wait only the older group has arrived.
__global__ void copy_two_groups(float* out, const float* x) {
  __shared__ float tile[3];
  __pipeline_memcpy_async(&tile[0], &x[0], 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&tile[1], &x[1], 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&tile[2], &x[2], 4);  // of a group that is still open
  __pipeline_wait_prior(1);
  out[0] = tile[0];
#ifndef RUNGS_CHECKED  // the checker would object
  out[3] = tile[1];
#endif
  __pipeline_wait_prior(0);
  out[1] = tile[1];
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[2] = tile[2];
}

__global__ void copy_unawaited(const float* x) {
  __shared__ __align__(16) float tile[4];
  if (threadIdx.x == 3) cp_async_16(tile, x);
}

__global__ void copy_misaligned(const float* x) {
  __shared__ __align__(16) float tile[8];
  cp_async_16(tile + 1, x);
}

__global__ void matrices_in_half_a_warp(float* c) {
  float sum[4] = {};
  mma_m16n8k16(sum, {0, 0, 0, 0}, {0, 0});
  c[threadIdx.x] = sum[0];
}

}  // namespace rungs::test
