#include "kernels/embedding/embedding.hpp"
#include "kernels/floats.cuh"

namespace rungs {

/// Rung 2: 16 bytes of the table per thread, four floats or eight of 16 bits, and the division by the row's length once
/// for all of them.
template <int width, class W>
__global__ void embedding_vector(float* out, const W* table, const int* index, int N, int C) {
  const int pieces = C / width;  // of a row
  const size_t piece = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (piece >= size_t(N) * pieces) return;
  const size_t n = piece / pieces, c = piece % pieces * width;
  store<width>(out + n * C + c, load<width>(table + size_t(index[n]) * C + c));
}

template <class W>
void embedding_02(float* out, const W* table, const int* index, int N, int C, cudaStream_t stream) {
  constexpr int width = 16 / sizeof(W), threads = 256;
  const size_t elements = size_t(N) * C;
  if (elements == 0) return;
  if (C % width == 0 && aligned_to(width, table) && aligned_to(4, out))
    launch(embedding_vector<width, W>, {unsigned(ceil_div(elements / width, threads)), threads, 0, stream}, out, table,
           index, N, C);
  else
    launch(embedding_vector<1, W>, {unsigned(ceil_div(elements, threads)), threads, 0, stream}, out, table, index, N,
           C);
}

template void embedding_02(float*, const float*, const int*, int, int, cudaStream_t);
template void embedding_02(float*, const bf16*, const int*, int, int, cudaStream_t);
template void embedding_02(float*, const f16*, const int*, int, int, cudaStream_t);

}  // namespace rungs
