/// The 16-bit floats against their definition, computed here with doubles and integers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace rungs::test {

TEST_SUITE_BEGIN("kernels_host");

struct Format {
  int exponent_bits, fraction_bits;
};
constexpr Format bf16_format{8, 7}, half_format{5, 10};

/// The value of finite or infinite bits.
static double value(uint16_t bits, Format f) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int exponent = bits >> f.fraction_bits & ((1 << f.exponent_bits) - 1),
            fraction = bits & ((1 << f.fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << f.exponent_bits) - 1) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - f.fraction_bits);
  return sign * std::ldexp((1 << f.fraction_bits) + fraction, exponent - bias - f.fraction_bits);
}

static bool is_nan(uint16_t bits, Format f) {
  const int magnitude = bits & 0x7fff;
  return magnitude > ((1 << f.exponent_bits) - 1) << f.fraction_bits;
}

/// The nearest, ties to even, found by bisection among all magnitudes.
static uint16_t nearest(double x, Format f) {
  if (std::isnan(x)) return 0x7fff;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double magnitude = std::fabs(x);
  const int infinity = ((1 << f.exponent_bits) - 1) << f.fraction_bits;
  int low = 0, high = infinity;  // value(low) <= magnitude
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value(uint16_t(middle), f) <= magnitude ? low : high) = middle;
  }
  // The step beyond the largest number would lead to where infinity stands: it is rounded to like a number.
  const double above = high == infinity ? 2 * value(uint16_t(infinity - 1), f) - value(uint16_t(infinity - 2), f)
                                        : value(uint16_t(high), f);
  const double to_low = magnitude - value(uint16_t(low), f), to_high = above - magnitude;
  const bool up = to_high < to_low || (to_high == to_low && low % 2 == 1);
  return uint16_t(sign | (up ? high : low));
}

template <class T>
static uint16_t bits_of(T x) {
  return std::bit_cast<uint16_t>(x);
}

template <class T>
static void check_widening(Format f) {
  int wrong = 0;
  for (int bits = 0; bits < 1 << 16; ++bits) {
    const float got = float(std::bit_cast<T>(uint16_t(bits)));
    if (is_nan(uint16_t(bits), f))
      wrong += !std::isnan(got);
    else
      wrong += std::bit_cast<uint32_t>(got) != std::bit_cast<uint32_t>(float(value(uint16_t(bits), f)));
  }
  CHECK(wrong == 0);
}

template <class T>
static void check_rounding(Format f) {
  int wrong = 0;
  const auto check = [&](uint32_t u) {
    const float x = std::bit_cast<float>(u);
    wrong += bits_of(T(x)) != nearest(x, f);
  };
  for (uint64_t u = 0; u < uint64_t(1) << 32; u += 9973) check(uint32_t(u));
  // Every 16-bit number, what is half way to the next, and the floats beside both.
  for (int bits = 0; bits < 1 << 16; ++bits) {
    if (is_nan(uint16_t(bits), f)) continue;
    const double here = value(uint16_t(bits), f);
    if (std::isinf(here)) continue;
    const double next = value(uint16_t(bits + 1), f), middle = std::isinf(next) ? here * 1.0001 : (here + next) / 2;
    for (double x : {here, middle})
      for (int32_t beside : {-1, 0, 1}) check(std::bit_cast<uint32_t>(float(x)) + uint32_t(beside));
  }
  for (uint32_t u : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00001u, 0x7f800001u, 0x7f7fffffu, 0x00000001u,
                     0x477fefffu, 0x477ff000u, 0x33000000u, 0x33000001u})
    check(u);
  CHECK(wrong == 0);
}

TEST_CASE("every bf16 and every half widens to its value") {
  check_widening<__nv_bfloat16>(bf16_format);
  check_widening<__half>(half_format);
}

TEST_CASE("floats round to the nearest bf16 or half with ties to even") {
  check_rounding<__nv_bfloat16>(bf16_format);
  check_rounding<__half>(half_format);
}

TEST_CASE("a double is rounded once") {
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;  // as a float it would be the tie itself, and fall to 1
  CHECK(float(__double2half(above_tie)) == 1 + 0x1p-10f);
  CHECK(float(__double2half(-above_tie)) == -1 - 0x1p-10f);
  CHECK(float(__double2half(1 + 0x1p-11 - 0x1p-40)) == 1);
  CHECK(float(__double2bfloat16(1 + 0x1p-8 + 0x1p-50)) == 1 + 0x1p-7f);
  CHECK(std::isinf(float(__double2half(1e300))));
  CHECK(__half_as_ushort(__double2half(std::nan(""))) == 0x7fff);
}

TEST_CASE("arithmetic of 16-bit floats is rounded once") {
  const __half a = 1.0f, b = 0x1p-11f, c = 1 + 0x1p-10f;
  CHECK(float(a + b) == 1);
  CHECK(float(c + b) == 1 + 0x1p-9f);
  CHECK(float(c * c) == 1 + 0x1p-9f);
  CHECK(float(__hfma(c, c, __half(-1.0f))) == float(__half(0x1p-9f + 0x1p-20f)));
  CHECK(float(-c) == -1 - 0x1p-10f);
  __half sum = a;
  sum += c;
  CHECK(float(sum) == 2);
}

TEST_CASE("pairs of 16-bit floats hold the first in the lower half") {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(1.0f, -2.0f);
  CHECK(std::bit_cast<uint32_t>(pair) == 0xc0003f80u);
  CHECK(__low2float(pair) == 1);
  CHECK(__high2float(pair) == -2);
  const float2 f = __half22float2(__hfma2(__float2half2_rn(2), __halves2half2(1, 3), __float2half2_rn(0.5f)));
  CHECK(f.x == 2.5f);
  CHECK(f.y == 6.5f);
  CHECK(__ushort_as_half(0x3c00) == 1.0f);
  CHECK(__bfloat16_as_ushort(__float2bfloat16(1)) == 0x3f80);
}

TEST_SUITE_END();

}  // namespace rungs::test
