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

TEST_CASE("to_f16 rounds to the nearest, ties to even") {
  int wrong = 0;
  for (uint32_t half = 0; half < 0x7c00; ++half) {  // 65520 and more are infinity, as if the next of 65504 were 65536
    const double low = to_float(f16{uint16_t(half)}), high = half == 0x7bff ? 65536 : to_float(f16{uint16_t(half + 1)});
    const auto middle = float((low + high) / 2);  // exact
    for (const float sign : {1.0f, -1.0f}) {
      const auto rounded = [&](float size) { return to_f16(sign * size).bits & 0x7fffu; };
      wrong += rounded(float(low)) != half || std::signbit(to_float(to_f16(sign * float(low)))) != (sign < 0);
      wrong += rounded(std::nextafter(middle, 0.0f)) != half || rounded(std::nextafter(middle, 1e9f)) != half + 1;
      wrong += rounded(middle) != half + (half & 1);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("to_f16 keeps infinities and NaN, and overflows to infinity") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(to_float(to_f16(infinity)) == infinity);
  CHECK(to_float(to_f16(-infinity)) == -infinity);
  for (const float large : {65520.0f, 65536.0f, 1e10f, std::numeric_limits<float>::max()})
    CHECK(to_float(to_f16(-large)) == -infinity);
  CHECK(to_f16(std::numeric_limits<float>::denorm_min()).bits == 0);
  CHECK(std::isnan(to_float(to_f16(std::bit_cast<float>(0x7f800001u)))));
  CHECK(std::isnan(to_float(to_f16(std::bit_cast<float>(0xffffffffu)))));
}

TEST_SUITE_END();
