#include "kernels/matmul/matmul.hpp"

#include <doctest/doctest.h>

#include "kernels/launch.cuh"
#include "product.hpp"

namespace rungs::test {
namespace {

struct Sizes {
  int M, N, K;
};

// Single elements, around a warp, thin, long in K, larger than a tile of 128 with and without rows of whole 16 bytes.
const Sizes all_sizes[] = {{1, 1, 1},     {2, 3, 1},      {31, 32, 33},   {33, 31, 32}, {100, 1, 31},
                           {1, 100, 100}, {32, 64, 96},   {129, 133, 7},  {5, 7, 301},  {132, 260, 40},
                           {64, 36, 100}, {200, 130, 65}, {128, 128, 64}, {3, 520, 16}};

/// (n, k) from (k, n).
std::vector<double> transposed(const std::vector<double>& b, int K, int N) {
  std::vector<double> out(b.size());
  for (int k = 0; k < K; ++k)
    for (int n = 0; n < N; ++n) out[size_t(n) * K + k] = b[size_t(k) * N + n];
  return out;
}

using MatmulF32 = void (*)(float*, const float*, const float*, int, int, int, cudaStream_t);
struct Rung {
  const char* name;
  MatmulF32 run;
};
const Rung f32_rungs[] = {{"matmul_01", matmul_01},
                          {"matmul_02", matmul_02},
                          {"matmul_03", matmul_03},
                          {"matmul_04", matmul_04},
                          {"matmul_05", matmul_05}};

/// The product of b stored transposed and of a (M, K), by `run`, which rounds nothing but sums.
template <class W, class Run>
void check_transposed(const Run& run, DType dtype) {
  for (const Sizes& sizes : all_sizes) {
    const int M = sizes.M, N = sizes.N, K = sizes.K;
    INFO(name_of(dtype), " M ", M, " N ", N, " K ", K);
    const Tensor a = random_tensor({M, K}, 1), b = random_floats({N, K}, 2, dtype);
    const Product want = product(values(a), values(b), M, N, K);
    Tensor c = poisoned({M, N});
    const Tensor device_a = to_device(a), device_b = to_device(b);
    run(c.data(), device_a.data(), device_b.data<W>(), M, N, K, nullptr);
    CHECK(difference(to_host(c), want.value, want.tolerance) == "");
  }
}

/// The product of bf16 matrices, b transposed, by `run`.
template <class Run>
void check_bf16(const Run& run) {
  for (const Sizes& sizes : all_sizes) {
    const int M = sizes.M, N = sizes.N, K = sizes.K;
    INFO("M ", M, " N ", N, " K ", K);
    const Tensor a = random_floats({M, K}, 1, DType::bf16), b = random_floats({N, K}, 2, DType::bf16);
    const Product want = on_tensor_cores(product(values(a), values(b), M, N, K), K);
    Tensor c = poisoned({M, N});
    const Tensor device_a = to_device(a), device_b = to_device(b);
    run(c.data(), device_a.data<bf16>(), device_b.data<bf16>(), M, N, K);
    CHECK(difference(to_host(c), want.value, want.tolerance) == "");
  }
}

}  // namespace

TEST_SUITE("kernels") {
  TEST_CASE("matmul: every rung in f32 gives the product at any size") {
    for (const Sizes& sizes : all_sizes) {
      const int M = sizes.M, N = sizes.N, K = sizes.K;
      const Tensor a = random_tensor({M, K}, 1), b = random_tensor({K, N}, 2);
      const Product want = product(values(a), transposed(values(b), K, N), M, N, K);
      const Tensor device_a = to_device(a), device_b = to_device(b);
      for (const Rung& rung : f32_rungs) {
        INFO(rung.name, " M ", M, " N ", N, " K ", K);
        Tensor c = poisoned({M, N});
        rung.run(c.data(), device_a.data(), device_b.data(), M, N, K, nullptr);
        CHECK(difference(to_host(c), want.value, want.tolerance) == "");
      }
    }
  }

  TEST_CASE("matmul: a sum of no products is zero") {
    const std::vector<double> zeros(15);
    const Tensor nothing = device_tensor({1});
    for (const Rung& rung : f32_rungs) {
      CAPTURE(rung.name);
      Tensor c = poisoned({3, 5});
      rung.run(c.data(), nothing.data(), nothing.data(), 3, 5, 0, nullptr);
      CHECK(difference(to_host(c), zeros, zeros) == "");
    }
    const Tensor half_nothing = device_tensor({8}, DType::bf16);
    const bf16* none = half_nothing.data<bf16>();
    Tensor c = poisoned({3, 5});
    matmul_06(c.data(), none, none, 3, 5, 0, nullptr);
    CHECK(difference(to_host(c), zeros, zeros) == "");
    c = poisoned({3, 5});
    matmul_07(c.data(), none, none, 3, 5, 0, 2, nullptr);
    CHECK(difference(to_host(c), zeros, zeros) == "");
  }

  TEST_CASE("matmul: a product of no rows or no columns writes nothing") {
    Tensor c = to_device(random_tensor({4}, 3));
    const Tensor x = to_device(random_tensor({64}, 4)), half = to_device(random_floats({64}, 5, DType::bf16));
    const auto before = values(to_host(c));
    for (const Rung& rung : f32_rungs) {
      rung.run(c.data(), x.data(), x.data(), 0, 4, 8, nullptr);
      rung.run(c.data(), x.data(), x.data(), 4, 0, 8, nullptr);
    }
    matmul_06(c.data(), half.data<bf16>(), half.data<bf16>(), 0, 4, 8, nullptr);
    matmul_07(c.data(), half.data<bf16>(), half.data<bf16>(), 4, 0, 8, 1, nullptr);
    CHECK(values(to_host(c)) == before);
  }

  TEST_CASE("matmul: matrices may begin at any element") {
    const int M = 36, N = 40, K = 44;  // rows of whole 16 bytes, so that only the beginnings forbid wide loads
    const Tensor a = random_tensor({M * K + 1}, 1), b = random_tensor({K * N + 1}, 2);
    auto a_values = values(a), b_values = values(b);
    a_values.erase(a_values.begin()), b_values.erase(b_values.begin());
    const Product want = product(a_values, transposed(b_values, K, N), M, N, K);
    const Tensor device_a = to_device(a), device_b = to_device(b);
    for (const Rung& rung : f32_rungs) {
      CAPTURE(rung.name);
      Tensor c = poisoned({M * N + 1});
      rung.run(c.data() + 1, device_a.data() + 1, device_b.data() + 1, M, N, K, nullptr);
      const Tensor all = to_host(c);
      CHECK(difference(Tensor::view_of(all.data() + 1, {M, N}, DType::f32), want.value, want.tolerance) == "");
      CHECK(std::isnan(all.flat(0)));
    }
  }

  TEST_CASE("matmul_05_transposed: a weight in f32, bf16 or f16, rows first") {
    check_transposed<float>(matmul_05_transposed<float>, DType::f32);
    check_transposed<bf16>(matmul_05_transposed<bf16>, DType::bf16);
    check_transposed<f16>(matmul_05_transposed<f16>, DType::f16);
  }

  TEST_CASE("matmul_06 and matmul_07: a product of bf16 keeps the tolerance of sums on tensor cores") {
    check_bf16(
        [](float* c, const bf16* a, const bf16* b, int M, int N, int K) { matmul_06(c, a, b, M, N, K, nullptr); });
    check_bf16(
        [](float* c, const bf16* a, const bf16* b, int M, int N, int K) { matmul_07(c, a, b, M, N, K, 1, nullptr); });
  }

  // More tiles of 128 x 256 than the device has multiprocessors, so that it gets them where its shared memory has room:
  // the tests run once as if on each GPU that the emulator knows.
  TEST_CASE("matmul_07: a product of many tiles starts on every GPU") {
    const int rows_of_tiles = 12, columns_of_tiles = attribute_of_device(cudaDevAttrMultiProcessorCount) / 12 + 1;
    const int M = 128 * rows_of_tiles - 36, N = 256 * columns_of_tiles - 72, K = 16;
    const Tensor a = random_floats({M, K}, 1, DType::bf16), b = random_floats({N, K}, 2, DType::bf16);
    const Product want = on_tensor_cores(product(values(a), values(b), M, N, K), K);
    Tensor c = poisoned({M, N});
    const Tensor device_a = to_device(a), device_b = to_device(b);
    matmul_07(c.data(), device_a.data<bf16>(), device_b.data<bf16>(), M, N, K, 1, nullptr);
    CHECK(difference(to_host(c), want.value, want.tolerance) == "");
  }

  TEST_CASE("matmul_07: two parts of a are two products with the same b") {
    for (const Sizes& sizes : {Sizes{3, 5, 7}, {33, 130, 72}, {130, 17, 64}, {5, 9, 130}}) {
      const int M = sizes.M, N = sizes.N, K = sizes.K;
      INFO("M ", M, " N ", N, " K ", K);
      const Tensor a = random_floats({M, int64_t(2) * K}, 1, DType::bf16), b = random_floats({N, K}, 2, DType::bf16);
      std::vector<double> twice;  // b beside itself: (N, 2K)
      const auto b_values = values(b);
      for (int n = 0; n < N; ++n)
        for (int part = 0; part < 2; ++part)
          twice.insert(twice.end(), b_values.begin() + int64_t(n) * K, b_values.begin() + int64_t(n + 1) * K);
      const Product want = on_tensor_cores(product(values(a), twice, M, N, 2 * K), 2 * K);
      Tensor c = poisoned({M, N});
      const Tensor device_a = to_device(a), device_b = to_device(b);
      matmul_07(c.data(), device_a.data<bf16>(), device_b.data<bf16>(), M, N, K, 2, nullptr);
      CHECK(difference(to_host(c), want.value, want.tolerance) == "");
    }
  }

  // The two parts leave at most 2⁻¹⁷ of each number: 2⁻⁸ is the rounding of the first to 8 bits, and 2⁻⁹ of that the
  // second's. Such rests are as good as random in sign and evenly spread, at most 2⁻¹⁷/√3 large in the mean, so that
  // their sum is about 2⁻¹⁷/√3 · ‖a∘b‖₂ = 74 u · ‖a∘b‖₂. The tolerance of f32 has 8 √K u there, for K = 640 202 u:
  // nearly three times as much. The tensor cores add twice K products.
  TEST_CASE("matmul_07 on what split_bf16 made of f32 keeps the tolerance of f32 sums on tensor cores") {
    const int M = 37, N = 70, K = 640;
    const Tensor x = random_tensor({M, K}, 1), b = random_floats({N, K}, 2, DType::bf16);
    const Product want = on_tensor_cores(product(values(x), values(b), M, N, K), 2 * K);
    const Tensor device_x = to_device(x), device_b = to_device(b);
    Tensor parts = device_tensor({M, int64_t(2) * K}, DType::bf16), c = poisoned({M, N});
    split_bf16(parts.data<bf16>(), device_x.data(), M, K, 2, nullptr);
    matmul_07(c.data(), parts.data<bf16>(), device_b.data<bf16>(), M, N, K, 2, nullptr);
    CHECK(difference(to_host(c), want.value, want.tolerance) == "");
  }

  TEST_CASE("split_bf16: the first part is the nearest bf16 and the second the nearest to the rest") {
    for (const int K : {1, 7, 32}) {
      const int M = 5;
      CAPTURE(K);
      Tensor x = random_tensor({M, K}, 6);
      x.flat(0) = 3e38f, x.flat(1) = -0.0f, x.flat(2) = 1e-30f;
      const Tensor device_x = to_device(x);
      Tensor parts = device_tensor({M, int64_t(2) * K}, DType::bf16);
      split_bf16(parts.data<bf16>(), device_x.data(), M, K, 2, nullptr);
      const Tensor got = to_host(parts);
      for (int m = 0; m < M; ++m)
        for (int k = 0; k < K; ++k) {
          INFO("m ", m, " k ", k);
          const float value = x(m, k);
          const bf16 first = to_bf16(value), second = to_bf16(value - to_float(first));
          CHECK(got.at<bf16>(m, k).bits == first.bits);
          CHECK(got.at<bf16>(m, K + k).bits == second.bits);
        }
      Tensor rounded = device_tensor({M, K}, DType::bf16);
      split_bf16(rounded.data<bf16>(), device_x.data(), M, K, 1, nullptr);
      const Tensor alone = to_host(rounded);
      for (int64_t i = 0; i < x.count(); ++i) CHECK(alone.data<bf16>()[i].bits == to_bf16(x.flat(i)).bits);
    }
  }
}

}  // namespace rungs::test
