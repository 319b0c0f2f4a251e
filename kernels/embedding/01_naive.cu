#include "kernels/embedding/embedding.hpp"
#include "kernels/floats.cuh"

namespace rungs {

/// Rung 1: one thread per element of the result.
template <class W>
__global__ void embedding_thread_per_element(float* out, const W* table, const int* index, int N, int C) {
  const size_t element = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= size_t(N) * C) return;
  const size_t n = element / C, c = element % C;
  out[element] = to_f32(table[size_t(index[n]) * C + c]);
}

template <class W>
void embedding_01(float* out, const W* table, const int* index, int N, int C, cudaStream_t stream) {
  const size_t elements = size_t(N) * C;
  if (elements == 0) return;
  constexpr int threads = 256;
  launch(embedding_thread_per_element<W>, {unsigned(ceil_div(elements, threads)), threads, 0, stream}, out, table,
         index, N, C);
}

template void embedding_01(float*, const float*, const int*, int, int, cudaStream_t);
template void embedding_01(float*, const bf16*, const int*, int, int, cudaStream_t);
template void embedding_01(float*, const f16*, const int*, int, int, cudaStream_t);

}  // namespace rungs
