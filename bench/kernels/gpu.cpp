// On a GPU.
#include "bench.hpp"
#include "kernels/matmul/matmul.hpp"

namespace rungs::bench {

const bool on_gpu = true;

bool wgmma_runs_here() { return matmul_08_runs_here(); }

void wgmma_matmul(float* c, const bf16* a, const bf16* b, int M, int N, int K, int parts, cudaStream_t stream) {
  matmul_08(c, a, b, M, N, K, parts, stream);
}

}  // namespace rungs::bench
