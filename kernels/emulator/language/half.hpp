/// The two 16-bit floats, bit for bit as on a GPU: rounded to nearest, ties to even, every NaN becoming the same one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/emulator/language/vector_types.hpp"
#ifdef __F16C__
#include <immintrin.h>
#endif

namespace rungs::emulator {

/// The upper half of a float: sign, 8 bits of exponent, 7 of fraction.
struct Bfloat16Format {
  static float upcast(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
  static uint16_t round(float value) {
    const auto u = std::bit_cast<uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return uint16_t((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
  }
};

/// The IEEE half: sign, 5 bits of exponent, 10 of fraction.
struct HalfFormat {
  static float upcast(uint16_t bits) {
    const uint32_t sign = uint32_t(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(magnitude > 0x7c00u ? 0x7fffffffu : sign | 0x7f800000u);
#ifdef __F16C__
    return _cvtsh_ss(bits);
#else
    // Placed in a float's exponent the value is too small by 2^112; the product is exact for subnormals too.
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f));
#endif
  }
  static uint16_t round(float value) {
    const auto u = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fff;
#ifdef __F16C__
    return uint16_t(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
#else
    const uint32_t sign = u >> 16 & 0x8000u;
    if (magnitude >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // from 65520 on: infinity
    if (magnitude < 0x38800000u)                                    // below 2^-14: steps of 2^-24
      return uint16_t(sign | uint32_t(std::nearbyint(std::fabs(value) * 0x1p24f)));
    return uint16_t(sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13);
#endif
  }
};

/// The float that rounds to 16 bits as the double does: what is cut off leaves a trace in the last bit.
inline float round_to_odd(double value) {
  const float nearest = float(value);
  if (double(nearest) == value || value != value || std::isinf(nearest)) return nearest;
  const auto u = std::bit_cast<uint32_t>(nearest);
  const bool away = std::fabs(double(nearest)) > std::fabs(value);
  return std::bit_cast<float>((away ? u - 1 : u) | 1u);
}

/// A 16-bit float; arithmetic is done in f32 and rounded.
template <class Format>
struct alignas(2) Float16 {
  uint16_t bits;

  Float16() = default;
  Float16(float value) : bits(Format::round(value)) {}
  Float16(double value) : bits(Format::round(round_to_odd(value))) {}
  Float16(int value) : Float16(double(value)) {}
  operator float() const { return Format::upcast(bits); }

  static Float16 of_bits(uint16_t bits) {
    Float16 x;
    x.bits = bits;
    return x;
  }
  friend Float16 operator+(Float16 a, Float16 b) { return float(a) + float(b); }
  friend Float16 operator-(Float16 a, Float16 b) { return float(a) - float(b); }
  friend Float16 operator*(Float16 a, Float16 b) { return float(a) * float(b); }
  friend Float16 operator/(Float16 a, Float16 b) { return float(a) / float(b); }
  friend Float16 operator-(Float16 a) { return of_bits(a.bits ^ 0x8000u); }
  Float16& operator+=(Float16 b) { return *this = *this + b; }
  Float16& operator-=(Float16 b) { return *this = *this - b; }
  Float16& operator*=(Float16 b) { return *this = *this * b; }
  Float16& operator/=(Float16 b) { return *this = *this / b; }
};

/// Two of them in 32 bits.
template <class Format>
struct __attribute__((may_alias, aligned(4))) Float16Pair {
  Float16<Format> x, y;
};

}  // namespace rungs::emulator

using __nv_bfloat16 = rungs::emulator::Float16<rungs::emulator::Bfloat16Format>;
using __nv_bfloat162 = rungs::emulator::Float16Pair<rungs::emulator::Bfloat16Format>;
using __half = rungs::emulator::Float16<rungs::emulator::HalfFormat>;
using __half2 = rungs::emulator::Float16Pair<rungs::emulator::HalfFormat>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
using half = __half;
using half2 = __half2;

// CUDA has one name per type for most conversions, and one name for both types for arithmetic.
inline __nv_bfloat16 __float2bfloat16(float f) { return f; }
inline __nv_bfloat16 __float2bfloat16_rn(float f) { return f; }
inline __nv_bfloat16 __double2bfloat16(double f) { return f; }
inline float __bfloat162float(__nv_bfloat16 h) { return h; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 f) { return {f.x, f.y}; }
inline __nv_bfloat162 __float2bfloat162_rn(float f) { return {f, f}; }
inline float2 __bfloat1622float2(__nv_bfloat162 h) { return {h.x, h.y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 h) { return {h, h}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 h) { return h.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 h) { return h.y; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short u) { return __nv_bfloat16::of_bits(u); }

inline __half __float2half(float f) { return f; }
inline __half __float2half_rn(float f) { return f; }
inline __half __double2half(double f) { return f; }
inline float __half2float(__half h) { return h; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 f) { return {f.x, f.y}; }
inline __half2 __float2half2_rn(float f) { return {f, f}; }
inline float2 __half22float2(__half2 h) { return {h.x, h.y}; }
inline __half2 __half2half2(__half h) { return {h, h}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half __low2half(__half2 h) { return h.x; }
inline __half __high2half(__half2 h) { return h.y; }
inline unsigned short __half_as_ushort(__half h) { return h.bits; }
inline __half __ushort_as_half(unsigned short u) { return __half::of_bits(u); }

template <class F>
inline float __low2float(rungs::emulator::Float16Pair<F> h) {
  return h.x;
}
template <class F>
inline float __high2float(rungs::emulator::Float16Pair<F> h) {
  return h.y;
}
template <class F>
inline rungs::emulator::Float16<F> __hadd(rungs::emulator::Float16<F> a, rungs::emulator::Float16<F> b) {
  return a + b;
}
template <class F>
inline rungs::emulator::Float16<F> __hmul(rungs::emulator::Float16<F> a, rungs::emulator::Float16<F> b) {
  return a * b;
}
/// Rounded once, as the hardware does.
template <class F>
inline rungs::emulator::Float16<F> __hfma(rungs::emulator::Float16<F> a, rungs::emulator::Float16<F> b,
                                          rungs::emulator::Float16<F> c) {
  return std::fma(double(float(a)), double(float(b)), double(float(c)));
}
template <class F>
inline rungs::emulator::Float16Pair<F> __hadd2(rungs::emulator::Float16Pair<F> a, rungs::emulator::Float16Pair<F> b) {
  return {a.x + b.x, a.y + b.y};
}
template <class F>
inline rungs::emulator::Float16Pair<F> __hmul2(rungs::emulator::Float16Pair<F> a, rungs::emulator::Float16Pair<F> b) {
  return {a.x * b.x, a.y * b.y};
}
template <class F>
inline rungs::emulator::Float16Pair<F> __hfma2(rungs::emulator::Float16Pair<F> a, rungs::emulator::Float16Pair<F> b,
                                               rungs::emulator::Float16Pair<F> c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
