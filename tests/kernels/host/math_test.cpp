#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "device_array.hpp"

namespace rungs::test {

TEST_SUITE_BEGIN("kernels_host");

/// By how many floats `got` is above the one that is nearest to `exact`.
static int floats_above(float got, double exact) { return std::bit_cast<int>(got) - std::bit_cast<int>(float(exact)); }

TEST_CASE("rsqrtf and __expf are off by what the CUDA C++ Programming Guide allows, up as often as down") {
  std::mt19937 random(1);
  int roots_up = 0, powers_up = 0;
  for (int i = 0; i < 1000; ++i) {
    const float x = float(random()) * 0x1p-28f + 0x1p-20f;  // up to 16
    const int root = floats_above(rsqrtf(x), 1 / std::sqrt(double(x)));
    const int power = floats_above(__expf(-x), std::exp(-double(x)));
    CHECK(std::abs(root) == 2);
    CHECK(std::abs(power) == 2 + int(std::floor(1.173 * double(x))));
    CHECK(floats_above(__frsqrt_rn(x), 1 / std::sqrt(double(x))) == 0);
    roots_up += root > 0, powers_up += power > 0;
  }
  CHECK(std::abs(roots_up - 500) < 100);
  CHECK(std::abs(powers_up - 500) < 100);
}

TEST_CASE("what is exact on a GPU, zero and infinity stay what they are") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(__expf(0) == 1);
  CHECK(__expf(-0.0f) == 1);
  CHECK(__expf(-infinity) == 0);
  CHECK(__expf(-1e30f) == 0);
  CHECK(__expf(1e30f) == infinity);
  CHECK(std::isnan(__expf(std::nanf(""))));
  CHECK(rsqrtf(0) == infinity);
  CHECK(rsqrtf(infinity) == 0);
  CHECK(std::isnan(rsqrtf(-1)));
}

TEST_SUITE_END();

}  // namespace rungs::test
