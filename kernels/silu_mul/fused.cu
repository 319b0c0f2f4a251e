#include "kernels/silu_mul/silu.cuh"
#include "kernels/silu_mul/silu_mul.hpp"

namespace rungs {

/// Rung 2 row by row: row n of gate and of up begins at n · stride, so that both may stand in one tensor, and the
/// result is written as the next product wants it. out: (N, F), or (N, 2F) as two parts.
template <int width, class Out>
__global__ void silu_mul_rows(Out* out, const float* gate, const float* up, int stride, int N, int F) {
  const int pieces = F / width;  // of a row
  const size_t piece = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (piece >= size_t(N) * pieces) return;
  const size_t n = piece / pieces, at = n * stride;
  const int f = int(piece % pieces) * width;
  const Few<width> few = silu_mul(load<width>(gate + at + f), load<width>(up + at + f));
  if constexpr (sizeof(Out) == sizeof(bf16))
    store_split<width>(out + n * 2 * F, F, f, few);
  else
    store<width>(out + n * F + f, few);
}

template <class Out>
static void launch_rows(Out* out, const float* gate, const float* up, int stride, int N, int F, cudaStream_t stream) {
  const size_t elements = size_t(N) * F;
  if (elements == 0) return;
  constexpr int threads = 256;
  if (rows_of_4(F, out, gate, up))
    launch(silu_mul_rows<4, Out>, {unsigned(ceil_div(elements / 4, threads)), threads, 0, stream}, out, gate, up,
           stride, N, F);
  else
    launch(silu_mul_rows<1, Out>, {unsigned(ceil_div(elements, threads)), threads, 0, stream}, out, gate, up, stride, N,
           F);
}

void silu_mul_joined(float* out, const float* gate_up, int N, int F, cudaStream_t stream) {
  launch_rows(out, gate_up, gate_up + F, 2 * F, N, F, stream);
}

void silu_mul_joined_split(bf16* parts, const float* gate_up, int N, int F, cudaStream_t stream) {
  launch_rows(parts, gate_up, gate_up + F, 2 * F, N, F, stream);
}

void silu_mul_split(bf16* parts, const float* gate, const float* up, int N, int F, cudaStream_t stream) {
  launch_rows(parts, gate, up, F, N, F, stream);
}

}  // namespace rungs
