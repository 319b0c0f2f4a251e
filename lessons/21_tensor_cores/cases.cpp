#include "kernels/device_memory.hpp"
#include "pieces.hpp"

namespace lesson_21 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  // The case's numbers are exact in bf16.
  const Tensor a = to_device(converted(in["a"], DType::bf16));  // (M, K)
  const Tensor b = to_device(converted(in["b"], DType::bf16));  // (N, K)
  const int M = int(a.dim(0)), N = int(b.dim(0)), K = int(a.dim(1));
  Tensor c = to_device(Tensor({M, N}));  // as fresh memory is
  const auto matmul = in.run == "matmul_fragments" ? pieces.matmul_fragments
                      : in.run == "matmul_tiles"   ? pieces.matmul_tiles
                                                   : pieces.matmul_pipeline;
  matmul(c.data(), a.data<bf16>(), b.data<bf16>(), M, N, K, nullptr);
  rec.output("c", to_host(c));
}

}  // namespace lesson_21
