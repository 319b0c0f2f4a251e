#include "kernels/block_row.cuh"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/warp.cuh"

namespace rungs {

/// \name Where a few results of a row go: as they are, or as two parts
///@{
template <int width>
__device__ static void put(float* row, int, int c, const Few<width>& x) {
  store<width>(row + c, x);
}
template <int width>
__device__ static void put(bf16* row, int C, int c, const Few<width>& x) {
  store_split<width>(row, C, c, x);
}
///@}

/// Rung 3 between its neighbours: the residual sum x += y is made while the row is read (y may be null: no sum), and
/// the result is written as the next product wants it. Each of the two saves reading and writing the row once more.
template <int width, class Out, class W>
__global__ void __launch_bounds__(longest_block)
    rms_norm_fused(Out* out, float* x, const float* y, const W* weight, int C, float epsilon) {
  constexpr int outs = sizeof(Out) == sizeof(bf16) ? 2 : 1;
  float* x_n = x + blockIdx.x * size_t(C);           // x[n, :]
  Out* out_n = out + blockIdx.x * size_t(C) * outs;  // out[n, :]
  BlockRow<width> row(x_n, C);

  float squares = 0;
  row.each([&](int c, Few<width>& few) {
    if (y != nullptr) {
      const Few<width> more = load<width>(y + blockIdx.x * size_t(C) + c);
      for (int i = 0; i < width; ++i) few.at[i] += more.at[i];
      store<width>(x_n + c, few);
    }
    for (int i = 0; i < width; ++i) squares += few.at[i] * few.at[i];
  });
  const float scale = rsqrtf(block_sum(squares) / float(C) + epsilon);
  row.each([&](int c, Few<width>& few) {
    const Few<width> w = load<width>(weight + c);
    for (int i = 0; i < width; ++i) few.at[i] *= scale * w.at[i];
    put<width>(out_n, C, c, few);
  });
}

template <class Out, class W>
static void launch_fused(Out* out, float* x, const float* y, const W* weight, int N, int C, float epsilon,
                         cudaStream_t stream) {
  if (N == 0 || C == 0) return;
  if (rows_of_4(C, out, x, y, weight))
    launch(rms_norm_fused<4, Out, W>, {N, threads_for_row(C, 4), 0, stream}, out, x, y, weight, C, epsilon);
  else
    launch(rms_norm_fused<1, Out, W>, {N, threads_for_row(C, 1), 0, stream}, out, x, y, weight, C, epsilon);
}

template <class W>
void rms_norm_split(bf16* parts, const float* x, const W* weight, int N, int C, float epsilon, cudaStream_t stream) {
  launch_fused(parts, const_cast<float*>(x), nullptr, weight, N, C, epsilon, stream);  // without y, x is only read
}

template <class W>
void add_rms_norm(float* out, float* x, const float* y, const W* weight, int N, int C, float epsilon,
                  cudaStream_t stream) {
  launch_fused(out, x, y, weight, N, C, epsilon, stream);
}

template <class W>
void add_rms_norm_split(bf16* parts, float* x, const float* y, const W* weight, int N, int C, float epsilon,
                        cudaStream_t stream) {
  launch_fused(parts, x, y, weight, N, C, epsilon, stream);
}

template void rms_norm_split(bf16*, const float*, const float*, int, int, float, cudaStream_t);
template void rms_norm_split(bf16*, const float*, const bf16*, int, int, float, cudaStream_t);
template void rms_norm_split(bf16*, const float*, const f16*, int, int, float, cudaStream_t);
template void add_rms_norm(float*, float*, const float*, const float*, int, int, float, cudaStream_t);
template void add_rms_norm(float*, float*, const float*, const bf16*, int, int, float, cudaStream_t);
template void add_rms_norm(float*, float*, const float*, const f16*, int, int, float, cudaStream_t);
template void add_rms_norm_split(bf16*, float*, const float*, const float*, int, int, float, cudaStream_t);
template void add_rms_norm_split(bf16*, float*, const float*, const bf16*, int, int, float, cudaStream_t);
template void add_rms_norm_split(bf16*, float*, const float*, const f16*, int, int, float, cudaStream_t);

}  // namespace rungs
