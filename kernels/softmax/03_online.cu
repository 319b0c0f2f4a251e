#include <cfloat>

#include "kernels/block_row.cuh"
#include "kernels/softmax/softmax.hpp"
#include "kernels/warp.cuh"

namespace rungs {

/// Rung 3: one block per row, 16 bytes a load, and one pass for both maximum and sum: when a larger element comes, the
/// sum so far is scaled to it (Milakov, Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3).
/// So the row is read once, and as far as it fits the second pass finds it in registers.
///
/// __expf(x) is 2 to the x · log2(e), two instructions. Its relative error grows with |x| just as that of the
/// subtraction before it does.
template <int width>
__global__ void __launch_bounds__(longest_block) softmax_online(float* out, const float* x, int C) {
  BlockRow<width> row(x + blockIdx.x * size_t(C), C);  // x[n, :]
  float* out_n = out + blockIdx.x * size_t(C);         // out[n, :]

  float largest = -FLT_MAX;  // not -inf: the difference of two of those would be NaN
  float sum = 0;             // of exp(x - largest) over this thread's elements so far
  row.each([&](int, const Few<width>& few) {
    const float before = largest;
    for (int i = 0; i < width; ++i) largest = fmaxf(largest, few.at[i]);
    sum *= __expf(before - largest);
    for (int i = 0; i < width; ++i) sum += __expf(few.at[i] - largest);
  });

  const float row_largest = block_max(largest);
  const float scale = 1 / block_sum(sum * __expf(largest - row_largest));
  row.each([&](int c, Few<width>& few) {
    for (int i = 0; i < width; ++i) few.at[i] = __expf(few.at[i] - row_largest) * scale;
    store<width>(out_n + c, few);
  });
}

void softmax_03(float* out, const float* x, int N, int C, cudaStream_t stream) {
  if (N == 0 || C == 0) return;
  if (rows_of_4(C, out, x))
    launch(softmax_online<4>, {N, threads_for_row(C, 4), 0, stream}, out, x, C);
  else
    launch(softmax_online<1>, {N, threads_for_row(C, 1), 0, stream}, out, x, C);
}

}  // namespace rungs
