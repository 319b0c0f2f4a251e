/// Rung 5: float4 everywhere, and two buffers. While a tile is multiplied the next one is on its way from global memory
/// into registers; then it goes into the other buffer, so that one barrier a step is enough. And the 8 x 8 elements of
/// a thread are four blocks of 4 x 4, so that a warp's float4 reads of shared memory touch every bank once.
#include "kernels/floats.cuh"
#include "kernels/launch.cuh"
#include "kernels/matmul/matmul.hpp"

namespace rungs {

namespace {

constexpr int tile = 128, depth = 8, threads = 256;
constexpr int pitch = tile + 4;  // of a row in shared memory; the 4 spread the transposing stores over the banks

/// Elements [i, i + 4) of a row of n; zeros beyond its end, and all zeros where `row` is null.
template <bool aligned, class W>
__device__ Few<4> four_of(const W* row, int i, int n) {
  Few<4> x = {};
  if (row == nullptr || i >= n) return x;
  if constexpr (aligned) {
    x = load<4>(row + i);
  } else {
    for (int e = 0; e < 4; ++e)
      if (i + e < n) x.at[e] = to_f32(row[i + e]);
  }
  return x;
}

/// 4 numbers of a row become 4 of a column.
__device__ void store_column(float (*to)[pitch], int k, int m, const Few<4>& x) {
  for (int e = 0; e < 4; ++e) to[k + e][m] = x.at[e];
}

/// 8 numbers of a row of shared memory: 4 at `first` and 4 at `second`.
__device__ Few<8> load_8(const float* first, const float* second) {
  const Few<4> x = load<4>(first), y = load<4>(second);
  return {{x.at[0], x.at[1], x.at[2], x.at[3], y.at[0], y.at[1], y.at[2], y.at[3]}};
}

}  // namespace

/// c: (M, N); a: (M, K); b: (K, N), or transposed (N, K). `aligned`: rows of a, b and c may be used 4 numbers at a
/// time.
template <bool transposed, bool aligned, class W>
__global__ void __launch_bounds__(threads, 2)
    matmul_vectorized(float* c, const float* a, const W* b, int M, int N, int K) {
  __shared__ __align__(16) float a_tile[2][depth][pitch];  // (buffer, k, m)
  __shared__ __align__(16) float b_tile[2][depth][pitch];  // (buffer, k, n)
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int m0 = blockIdx.y * tile, n0 = blockIdx.x * tile;  // this block's corner of c

  // What this thread loads in every step: 4 numbers along a row of a, and 4 of b.
  const int a_m = thread / 2, a_k = thread % 2 * 4;
  const float* const a_row = m0 + a_m < M ? a + size_t(m0 + a_m) * K : nullptr;
  const int b_k = transposed ? a_k : thread / 32, b_n = transposed ? a_m : thread % 32 * 4;
  const W* const b_row = transposed && n0 + b_n < N ? b + size_t(n0 + b_n) * K : nullptr;
  const auto load_a = [&](int k0) { return four_of<aligned>(a_row, k0 + a_k, K); };
  const auto load_b = [&](int k0) {
    if constexpr (transposed) return four_of<aligned>(b_row, k0 + b_k, K);
    const W* const row = k0 + b_k < K ? b + size_t(k0 + b_k) * N : nullptr;
    return four_of<aligned>(row, n0 + b_n, N);
  };
  const auto keep = [&](int buffer, const Few<4>& from_a, const Few<4>& from_b) {
    store_column(a_tile[buffer], a_k, a_m, from_a);
    if constexpr (transposed)
      store_column(b_tile[buffer], b_k, b_n, from_b);
    else
      store(&b_tile[buffer][b_k][b_n], from_b);
  };

  // A warp has 32 x 64 elements of c, its lanes stand 4 x 8. Lane: rows my_m + 0..3 and + 16, columns my_n + 0..3 and
  // + 32. So a read of b_tile by a warp is 8 float4 side by side, one of a_tile 4, the same for 8 lanes each.
  const int my_m = warp / 2 * 32 + lane / 8 * 4, my_n = warp % 2 * 64 + lane % 8 * 4;
  float sum[8][8] = {};
  keep(0, load_a(0), load_b(0));
  __syncthreads();
  for (int k0 = 0, buffer = 0; k0 < K; k0 += depth, buffer ^= 1) {
    const Few<4> next_a = load_a(k0 + depth), next_b = load_b(k0 + depth);  // zeros after the last step
#pragma unroll
    for (int k = 0; k < depth;
         ++k) {  // so that the reads of the next step are on their way during the products of this
      const Few<8> column = load_8(&a_tile[buffer][k][my_m], &a_tile[buffer][k][my_m + 16]);
      const Few<8> row = load_8(&b_tile[buffer][k][my_n], &b_tile[buffer][k][my_n + 32]);
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) sum[i][j] += column.at[i] * row.at[j];
    }
    keep(buffer ^ 1, next_a, next_b);  // all have left that buffer: they passed the barrier below since
    __syncthreads();
  }

  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; j += 4) {
      const int m = m0 + my_m + i % 4 + i / 4 * 16, n = n0 + my_n + j / 4 * 32;
      if (m >= M || n >= N) continue;
      float* const out = c + size_t(m) * N + n;
      if constexpr (aligned)
        store(out, Few<4>{{sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]}});
      else
        for (int x = 0; x < 4 && n + x < N; ++x) out[x] = sum[i][j + x];
    }
}

namespace {

template <bool transposed, class W>
void launch_vectorized(float* c, const float* a, const W* b, int M, int N, int K, cudaStream_t stream) {
  if (M == 0 || N == 0) return;
  const bool aligned = N % 4 == 0 && K % 4 == 0 && aligned_to(4, c, a, b);
  const auto kernel = aligned ? matmul_vectorized<transposed, true, W> : matmul_vectorized<transposed, false, W>;
  launch(kernel, {dim3(ceil_div(N, tile), ceil_div(M, tile)), threads, 0, stream}, c, a, b, M, N, K);
}

}  // namespace

void matmul_05(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  launch_vectorized<false>(c, a, b, M, N, K, stream);
}

template <class W>
void matmul_05_transposed(float* c, const float* a, const W* b, int M, int N, int K, cudaStream_t stream) {
  launch_vectorized<true>(c, a, b, M, N, K, stream);
}
template void matmul_05_transposed(float*, const float*, const float*, int, int, int, cudaStream_t);
template void matmul_05_transposed(float*, const float*, const bf16*, int, int, int, cudaStream_t);
template void matmul_05_transposed(float*, const float*, const f16*, int, int, int, cudaStream_t);

}  // namespace rungs
