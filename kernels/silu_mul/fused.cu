#include "kernels/silu_mul/silu.cuh"
#include "kernels/silu_mul/silu_mul.hpp"

namespace rungs {

/// Rung 2 row by row. out: (N, F); gate_up: (N, 2F).
template <int width>
__global__ void silu_mul_rows(float* out, const float* gate_up, int N, int F) {
  const int pieces = F / width;  // of a row
  const size_t piece = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (piece >= size_t(N) * pieces) return;
  const size_t n = piece / pieces;
  const int f = int(piece % pieces) * width;
  const float* gate = gate_up + n * 2 * F + f;
  store<width>(out + n * F + f, silu_mul(load<width>(gate), load<width>(gate + F)));
}

void silu_mul_packed(float* out, const float* gate_up, int N, int F, cudaStream_t stream) {
  const size_t elements = size_t(N) * F;
  if (elements == 0) return;
  constexpr int threads = 256;
  if (rows_of_4(F, out, gate_up))
    launch(silu_mul_rows<4>, {unsigned(ceil_div(elements / 4, threads)), threads, 0, stream}, out, gate_up, N, F);
  else
    launch(silu_mul_rows<1>, {unsigned(ceil_div(elements, threads)), threads, 0, stream}, out, gate_up, N, F);
}

}  // namespace rungs
