#include "rungs/tensor/dtype.hpp"

#include <cmath>
#include <limits>

#include "support.hpp"

using namespace rungs;

TEST_SUITE_BEGIN("tensor");

TEST_CASE("each of the 65536 halves is sign, 2 to the exponent, and fraction") {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
    const double sign = bits & 0x8000 ? -1 : 1;
    const double size = exponent == 0   ? std::ldexp(fraction, -24)
                        : exponent < 31 ? std::ldexp(1024 + fraction, exponent - 25)
                        : fraction == 0 ? std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
    const float got = to_float(f16{uint16_t(bits)});
    wrong += std::isnan(size) ? !std::isnan(got) : double(got) != sign * size || std::signbit(got) != (sign < 0);
  }
  CHECK(wrong == 0);
}

TEST_CASE("a bf16 is the upper half of a float, both ways") {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = to_float(bf16{uint16_t(bits)});
    const bool same = std::isnan(value) ? std::isnan(to_float(to_bf16(value))) : to_bf16(value).bits == bits;
    wrong += std::bit_cast<uint32_t>(value) != bits << 16 || !same;
  }
  CHECK(wrong == 0);
}

TEST_CASE("to_bf16 rounds to the nearest, ties to even") {
  int wrong = 0;
  for (uint32_t upper = 0; upper < 0x7f7f; ++upper)  // every pair of finite neighbours
    for (const uint32_t lower : {1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const uint32_t up = lower > 0x8000 || (lower == 0x8000 && upper & 1);
      for (const uint32_t sign : {0u, 0x80000000u})
        wrong += to_bf16(std::bit_cast<float>(sign | upper << 16 | lower)).bits != (sign >> 16 | (upper + up));
    }
  CHECK(wrong == 0);
}

TEST_CASE("to_bf16 keeps infinities and NaN, and overflows to infinity") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(to_float(to_bf16(infinity)) == infinity);
  CHECK(to_float(to_bf16(-infinity)) == -infinity);
  CHECK(to_float(to_bf16(std::numeric_limits<float>::max())) == infinity);
  CHECK(std::isnan(to_float(to_bf16(std::bit_cast<float>(0x7f800001u)))));  // its NaN bit is in the lower half
  CHECK(std::isnan(to_float(to_bf16(std::bit_cast<float>(0xffffffffu)))));
}

TEST_SUITE_END();
