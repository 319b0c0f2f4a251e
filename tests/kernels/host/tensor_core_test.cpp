#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "device_array.hpp"
#include "host_kernels.hpp"
#include "kernels/emulator/engine/device.hpp"

namespace rungs::test {

TEST_SUITE_BEGIN("kernels_host");

using bf16_t = __nv_bfloat16;
using Factor = std::pair<float, float>;

static bool is_ampere() { return emulator::device().fused_products == 8; }

/// c + up to 16 products of bf16, by one mma.m16n8k16; by wmma it must be the same.
static float sum_of(float c, const std::vector<Factor>& factors) {
  std::vector<bf16_t> a(256, bf16_t(0)), b(128, bf16_t(0)), b_columns(256, bf16_t(0));
  for (size_t k = 0; k < factors.size(); ++k) {
    a[k] = factors[k].first;                              // (0, k)
    b[k * 8] = b_columns[k] = bf16_t(factors[k].second);  // (k, 0)
  }
  DeviceArray<float> sum(std::vector<float>(128, c)), tile(std::vector<float>(256, c)), out(256);
  launch(multiply_16_8_16, {1, 32}, sum, DeviceArray<bf16_t>(a), DeviceArray<bf16_t>(b));
  launch(multiply_wmma<bf16_t, true>, {1, 32}, out, DeviceArray<bf16_t>(a), DeviceArray<bf16_t>(b_columns), tile);
  const float by_mma = sum.get()[0], by_wmma = out.get()[0];
  CHECK((by_mma == by_wmma || (std::isnan(by_mma) && std::isnan(by_wmma))));
  return by_mma;
}

/// `count` times the same factors.
static std::vector<Factor> times(int count, Factor factor) { return std::vector<Factor>(size_t(count), factor); }

TEST_CASE("tensor cores lose addends below their last bit and add the others before they round") {
  // Behind the point of 1 there are 24 or 25 bits; rounding after each addend would leave 1 in both cases.
  CHECK(sum_of(1, times(16, {0x1p-12f, 0x1p-13f})) == (is_ampere() ? 1 : 1 + 0x1p-21f));
  CHECK(sum_of(1, times(16, {0x1p-12f, 0x1p-12f})) == 1 + 0x1p-20f);
  // A smaller sum is cut off in the same way as a smaller product.
  CHECK(sum_of(0x1.8p-24f, {{1, 1}, {-1, 1}}) == (is_ampere() ? 0x1p-24f : 0x1.8p-24f));
  CHECK(sum_of(0x1.8p-25f, {{1, 1}, {-1, 1}}) == (is_ampere() ? 0 : 0x1p-25f));
}

TEST_CASE("tensor cores round toward zero on both sides of it") {
  const Factor one_and_a_half{0x1.8p-11f, 0x1p-12f};  // · 2⁻²³; the nearest float to 1 and this is 1 + 2⁻²²
  CHECK(sum_of(1, {one_and_a_half}) == 1 + 0x1p-23f);
  CHECK(sum_of(-1, {{-one_and_a_half.first, one_and_a_half.second}}) == -1 - 0x1p-23f);
  // The addend too is cut off toward zero: down to the next unit, a negative one would become a unit more.
  CHECK(sum_of(1, {{-0x1p-13f, 0x1p-13f}}) == 1);
  CHECK(sum_of(-1, {{0x1p-13f, 0x1p-13f}}) == -1);
}

TEST_CASE("tensor cores add 8 products and then 8, or 16 at once") {
  // 1 + 2⁻²⁴ is rounded to 1 before the second half takes the 1 away, or nothing is rounded in between.
  std::vector<Factor> halves(9, {0, 0});
  halves[0] = {1, 1}, halves[7] = {0x1p-12f, 0x1p-12f}, halves[8] = {-1, 1};
  CHECK(sum_of(0, halves) == (is_ampere() ? 0 : 0x1p-24f));
  // 2⁻³⁰ meets a sum that is zero by then, or the 1 itself.
  halves[1] = {-1, 1}, halves[7] = {0, 0}, halves[8] = {0x1p-15f, 0x1p-15f};
  CHECK(sum_of(0, halves) == (is_ampere() ? 0x1p-30f : 0));
}

TEST_CASE("the exponent of a product is the sum of those of its factors, even where the product is above 2") {
  const float rest = sum_of(0, {{1.5f, 1.5f}, {0x1.8p-12f, 0x1p-12f}, {-1.5f, 1.5f}});
  CHECK(rest == (is_ampere() ? 0x1p-24f : 0x1.8p-24f));  // a bit less of it if 2.25 counted as 2¹
}

TEST_CASE("tensor cores give the same bits in every order of a group") {
  std::mt19937 random(1);
  const size_t group = size_t(emulator::device().fused_products);
  for (int times = 0; times < 20; ++times) {
    std::vector<Factor> factors(16);
    for (auto& [a, b] : factors)
      a = std::ldexp(1 + float(random() % 128) / 128, int(random() % 24)), b = random() % 2 ? 1.0f : -1.25f;
    const float once = sum_of(3, factors);
    for (size_t begin = 0; begin < 16; begin += group)
      std::shuffle(factors.begin() + int64_t(begin), factors.begin() + int64_t(begin + group), random);
    CHECK(sum_of(3, factors) == once);
  }
}

TEST_CASE("tensor cores take numbers that f32 cannot hold in between, infinities and NaN") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(sum_of(5, {{0x1p100f, 0x1p100f}, {-0x1p100f, 0x1p100f}}) == 0);  // 5 is below the last bit
  CHECK(sum_of(0, {{0x1p127f, 2}}) == infinity);
  CHECK(sum_of(0, {{0x1p-130f, 0x1p10f}, {0, 0x1p127f}}) == 0x1p-120f);
  CHECK(sum_of(0, {{0x1p-100f, 0x1.8p-49f}}) == 0x1p-149f);
  CHECK(sum_of(-1, {{infinity, 2}}) == infinity);
  CHECK(sum_of(-infinity, {{1, 1}}) == -infinity);
  CHECK(std::isnan(sum_of(0, {{infinity, 0}})));
  CHECK(std::isnan(sum_of(infinity, {{-infinity, 1}})));
  CHECK(std::isnan(sum_of(1, {{std::nanf(""), 0}})));
  // A finite product is no infinity, however far beyond f32 it is, so it cannot take one away.
  CHECK(sum_of(0, {{infinity, 1}, {-0x1p120f, 0x1p120f}}) == infinity);
  CHECK(sum_of(0, {{0x1p120f, 0x1p120f}, {-infinity, 1}}) == -infinity);
}

TEST_SUITE_END();

}  // namespace rungs::test
