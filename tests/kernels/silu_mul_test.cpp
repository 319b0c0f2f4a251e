#include "kernels/silu_mul/silu_mul.hpp"

#include "rows.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

namespace {

struct Expected {
  std::vector<double> value, tolerance;
};

/// In double, the first `count` elements; the others stay as they are. The tolerance is 8 times the f32 rounding of the
/// formula: 2 u for the exponential, which is at most all of the denominator, and u for the sum, the quotient and the
/// product. Where exp(-g) overflows the result is 0 instead of less than 90 · 2⁻¹²⁸.
Expected silu_in_double(const Tensor& gate, const Tensor& up, int64_t count) {
  Expected e;
  for (int64_t i = 0; i < gate.count(); ++i) {
    const double g = gate.flat(i), x = g / (1 + std::exp(-g)) * up.flat(i);
    e.value.push_back(i < count ? x : g);
    e.tolerance.push_back(i < count ? 8 * 5 * u * std::abs(x) + 0x1p-121 * std::abs(up.flat(i)) : 0);
  }
  return e;
}

/// Numbers up to 30, and among them some where the exponential overflows or vanishes.
Tensor gates(const Shape& shape) {
  Tensor x = random_tensor(shape, 1);
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) *= i % 5 == 0 ? 110.0f : i % 7 == 0 ? 0.0f : 30.0f;
  return x;
}

}  // namespace

TEST_CASE("silu_mul equals its formula and touches nothing beyond the last element") {
  for (const int64_t count : {1, 3, 31, 32, 33, 256, 1000, 1025, 4099})
    for (const bool shifted : {false, true})
      for (const auto silu_mul : {silu_mul_01, silu_mul_02}) {
        CAPTURE(count);
        CAPTURE(shifted);
        const Tensor gate = gates({count + 1}), up = random_tensor({count + 1}, 2);
        OnDevice in(gate, shifted), other(up, shifted);
        silu_mul(in.data(), other.data(), count, nullptr);
        const Expected e = silu_in_double(gate, up, count);
        CHECK(difference(in.get(), e.value, e.tolerance) == "");
      }
}

TEST_CASE("silu_mul of packed rows equals its formula") {
  for (const Size size : {Size{1, 1}, {3, 31}, {2, 32}, {5, 33}, {1, 1000}, {4, 260}})
    for (const bool shifted : {false, true}) {
      const int N = size.N, F = size.C;
      CAPTURE(N);
      CAPTURE(F);
      CAPTURE(shifted);
      const Tensor gate = gates({N, F}), up = random_tensor({N, F}, 2);
      Tensor packed({N, 2 * int64_t(F)});
      for (int n = 0; n < N; ++n)
        for (int f = 0; f < F; ++f) packed(n, f) = gate(n, f), packed(n, F + f) = up(n, f);
      const Expected e = silu_in_double(gate, up, gate.count());
      OnDevice gate_up(packed, shifted), out({N, F}, shifted);
      silu_mul_packed(out.data(), gate_up.data(), N, F, nullptr);
      CHECK(difference(out.get(), e.value, e.tolerance) == "");
    }
}

TEST_SUITE_END();
