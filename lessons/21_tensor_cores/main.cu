// Lesson 21: which lane holds what, and what a product of bf16 is worth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/device_memory.hpp"
#include "kernels/tensor_core.cuh"
#include "lesson.hpp"
#include "rungs/tensor/print.hpp"

using namespace rungs;

/// Each element of the 16 x 8 sums as the lane and the register that hold it.  owner: (16, 8)
__global__ void who_holds_the_sums(int* owner) {
  const int lane = threadIdx.x, group = lane / 4, number = lane % 4;
  for (int i = 0; i < 4; ++i) owner[(group + i / 2 * 8) * 8 + 2 * number + i % 2] = 10 * lane + i;
}

static Tensor noise(const Shape& shape, float step) {
  Tensor x(shape);
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = std::sin(step * float(i + 1));
  return x;
}

/// The root of the mean square of c - a · bᵀ, in double.
static double error(const Tensor& c, const Tensor& a, const Tensor& b) {
  double squares = 0;
  for (int64_t m = 0; m < c.dim(0); ++m)
    for (int64_t n = 0; n < c.dim(1); ++n) {
      double sum = 0;
      for (int64_t k = 0; k < a.dim(1); ++k) sum += double(a(m, k)) * b(n, k);
      squares += (c(m, n) - sum) * (c(m, n) - sum);
    }
  return std::sqrt(squares / double(c.count()));
}

int main() {
  Tensor owner = device_tensor({16, 8}, DType::i32);
  launch(who_holds_the_sums, {1, 32}, owner.data<int32_t>());
  const Tensor held = to_host(owner);
  fmt::print("lane.register of each of the 16 x 8 sums\n");
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 8; ++n)
      fmt::print("{:>6}", fmt::format("{}.{}", held.at<int32_t>(m, n) / 10, held.at<int32_t>(m, n) % 10));
    fmt::print("\n");
  }

  constexpr int M = 40, N = 24, K = 256;
  const Tensor a = noise({M, K}, 0.7f), b = noise({N, K}, 1.3f);  // (M, K), (N, K)
  const Tensor short_a = converted(a, DType::bf16), short_b = converted(b, DType::bf16);
  const Tensor device_a = to_device(short_a), device_b = to_device(short_b);
  Tensor c = device_tensor({M, N}), again = device_tensor({M, N}), ahead = device_tensor({M, N});
  lesson_21::matmul_fragments(c.data(), device_a.data<bf16>(), device_b.data<bf16>(), M, N, K, nullptr);
  lesson_21::matmul_tiles(again.data(), device_a.data<bf16>(), device_b.data<bf16>(), M, N, K, nullptr);
  lesson_21::matmul_pipeline(ahead.data(), device_a.data<bf16>(), device_b.data<bf16>(), M, N, K, nullptr);
  const Tensor by_hand = to_host(c), by_ldmatrix = to_host(again), by_pipeline = to_host(ahead);
  double apart = 0;
  for (int64_t i = 0; i < by_hand.count(); ++i)
    apart = std::max({apart, std::fabs(by_hand.value(i) - by_ldmatrix.value(i)),
                      std::fabs(by_hand.value(i) - by_pipeline.value(i))});
  fmt::print("\nall three ways give the same product of ({}, {}) and ({}, {}): {}\n", M, K, N, K, apart < 1e-4);
  fmt::print("error of the product of the rounded numbers: below 1e-4: {}\n",
             error(by_hand, converted(short_a, DType::f32), converted(short_b, DType::f32)) < 1e-4);
  fmt::print("error against the numbers before rounding:   {:.3f}\n", error(by_hand, a, b));
}
