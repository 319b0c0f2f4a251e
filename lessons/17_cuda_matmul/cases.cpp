#include "kernels/device_memory.hpp"
#include "pieces.hpp"

namespace lesson_17 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const auto product = in.run == "matmul_coalesced"   ? pieces.matmul_coalesced
                       : in.run == "matmul_tiled"     ? pieces.matmul_tiled
                       : in.run == "matmul_registers" ? pieces.matmul_registers
                       : in.run == "matmul_8x8"       ? pieces.matmul_8x8
                                                      : pieces.matmul_vectorized;
  const int M = int(in["a"].dim(0)), K = int(in["a"].dim(1)), N = int(in["b"].dim(1));
  const Tensor a = to_device(in["a"]), b = to_device(in["b"]);  // (M, K), (K, N)
  Tensor c = to_device(Tensor({M, N}));                         // as fresh memory is
  product(c.data(), a.data(), b.data(), M, N, K, nullptr);
  rec.output("c", to_host(c));
}

}  // namespace lesson_17
