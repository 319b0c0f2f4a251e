#include "kernels/block_row.cuh"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/warp.cuh"

namespace rungs {

/// Rung 3: one block per row, 16 bytes a load, and the row stays in registers between the sum and the product. So
/// memory sees each float once on its way in and once on its way out, and even a single row keeps a whole block busy.
template <int width, class W>
__global__ void __launch_bounds__(longest_block)
    rms_norm_block_per_row(float* out, const float* x, const W* weight, int C, float epsilon) {
  BlockRow<width> row(x + blockIdx.x * size_t(C), C);  // x[n, :]
  float* out_n = out + blockIdx.x * size_t(C);         // out[n, :]

  float squares = 0;
  row.each([&](int, const Few<width>& few) {
    for (int i = 0; i < width; ++i) squares += few.at[i] * few.at[i];
  });
  const float scale = rsqrtf(block_sum(squares) / float(C) + epsilon);
  row.each([&](int c, Few<width>& few) {
    const Few<width> w = load<width>(weight + c);
    for (int i = 0; i < width; ++i) few.at[i] *= scale * w.at[i];
    store<width>(out_n + c, few);
  });
}

template <class W>
void rms_norm_03(float* out, const float* x, const W* weight, int N, int C, float epsilon, cudaStream_t stream) {
  if (N == 0 || C == 0) return;
  if (rows_of_4(C, out, x, weight))
    launch(rms_norm_block_per_row<4, W>, {N, threads_for_row(C, 4), 0, stream}, out, x, weight, C, epsilon);
  else
    launch(rms_norm_block_per_row<1, W>, {N, threads_for_row(C, 1), 0, stream}, out, x, weight, C, epsilon);
}

template void rms_norm_03(float*, const float*, const float*, int, int, float, cudaStream_t);
template void rms_norm_03(float*, const float*, const bf16*, int, int, float, cudaStream_t);
template void rms_norm_03(float*, const float*, const f16*, int, int, float, cudaStream_t);

}  // namespace rungs
