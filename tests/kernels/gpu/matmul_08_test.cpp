#include <doctest/doctest.h>

#include "kernels/matmul/matmul.hpp"
#include "product.hpp"

namespace rungs::test {

TEST_SUITE("kernels") {
  TEST_CASE("matmul_08: a product of bf16 keeps the tolerance of sums on tensor cores") {
    if (!matmul_08_runs_here()) {
      MESSAGE("SKIPPED: this GPU is not of compute capability 9.0");
      return;
    }
    struct Sizes {
      int M, N, K, parts;
    };
    // One tile, edges in every direction, more steps than stages, more tiles than multiprocessors, rows that the copy
    // engine does not take.
    const Sizes all_sizes[] = {{128, 256, 64, 1},   {1, 1, 8, 1},      {100, 300, 72, 1},    {130, 257, 200, 2},
                               {257, 513, 1000, 1}, {64, 96, 2048, 2}, {1500, 3100, 136, 1}, {33, 31, 65, 2}};
    for (const Sizes& sizes : all_sizes) {
      const int M = sizes.M, N = sizes.N, K = sizes.K, parts = sizes.parts;
      INFO("M ", M, " N ", N, " K ", K, " parts ", parts);
      const Tensor a = random_floats({M, int64_t(parts) * K}, 1, DType::bf16),
                   b = random_floats({N, K}, 2, DType::bf16);
      std::vector<double> repeated;  // b once for each part of a: (N, parts · K)
      const auto b_values = values(b);
      for (int n = 0; n < N; ++n)
        for (int part = 0; part < parts; ++part)
          repeated.insert(repeated.end(), b_values.begin() + int64_t(n) * K, b_values.begin() + int64_t(n + 1) * K);
      const Product want = on_tensor_cores(product(values(a), repeated, M, N, parts * K), parts * K);
      const Tensor device_a = to_device(a), device_b = to_device(b);
      for (int again = 0; again < 3; ++again) {  // barriers that are off by one phase need not fail at once
        Tensor c = poisoned({M, N});
        matmul_08(c.data(), device_a.data<bf16>(), device_b.data<bf16>(), M, N, K, parts, nullptr);
        CHECK(difference(to_host(c), want.value, want.tolerance) == "");
      }
    }
  }
}

}  // namespace rungs::test
