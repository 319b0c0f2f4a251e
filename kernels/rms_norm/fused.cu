#include "kernels/block_row.cuh"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/warp.cuh"

namespace rungs {

/// Rung 3 whose result is written in parts, as the next product wants it. out: (N, parts · C).
template <int width, class W>
__global__ void __launch_bounds__(longest_block)
    rms_norm_in_parts(bf16* out, const float* x, const W* weight, int C, float epsilon, int parts) {
  bf16* out_n = out + blockIdx.x * size_t(parts) * C;  // out[n, :]
  BlockRow<width> row(x + blockIdx.x * size_t(C), C);

  float squares = 0;
  row.each([&](int, Few<width>& few) {
    for (int i = 0; i < width; ++i) squares += few.at[i] * few.at[i];
  });
  const float scale = rsqrtf(block_sum(squares) / float(C) + epsilon);
  row.each([&](int c, Few<width>& few) {
    const Few<width> w = load<width>(weight + c);
    for (int i = 0; i < width; ++i) few.at[i] *= scale * w.at[i];
    store_split<width>(out_n, C, c, few, parts);
  });
}

template <class W>
void rms_norm_split(bf16* out, const float* x, const W* weight, int N, int C, float epsilon, int parts,
                    cudaStream_t stream) {
  if (N == 0 || C == 0) return;
  if (rows_of_4(C, out, x, weight))
    launch(rms_norm_in_parts<4, W>, {N, threads_for_row(C, 4), 0, stream}, out, x, weight, C, epsilon, parts);
  else
    launch(rms_norm_in_parts<1, W>, {N, threads_for_row(C, 1), 0, stream}, out, x, weight, C, epsilon, parts);
}

template void rms_norm_split(bf16*, const float*, const float*, int, int, float, int, cudaStream_t);
template void rms_norm_split(bf16*, const float*, const bf16*, int, int, float, int, cudaStream_t);
template void rms_norm_split(bf16*, const float*, const f16*, int, int, float, int, cudaStream_t);

}  // namespace rungs
