// cvt and the floats of 16 bits.
#include "conversions.hpp"

#include <cmath>
#include <limits>

#include "table.hpp"

namespace rungs::ptx {

f32 from_bf16(u16 x) {
  const u32 bits = u32(x) << 16;
  f32 value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

u16 to_bf16(f32 x) {
  if (x != x) return 0x7fff;
  u32 bits;
  std::memcpy(&bits, &x, sizeof bits);
  const u32 even = bits >> 16 & 1;
  return u16((bits + 0x7fff + even) >> 16);
}

f32 from_f16(u16 x) {
  const int exponent = x >> 10 & 31, fraction = x & 1023;
  f32 value = std::ldexp(f32(fraction), -24);  // zero, or subnormal
  if (exponent == 31)
    value = fraction ? std::numeric_limits<f32>::quiet_NaN() : std::numeric_limits<f32>::infinity();
  else if (exponent > 0)
    value = std::ldexp(f32(1024 + fraction), exponent - 25);
  return x >> 15 ? -value : value;
}

u16 to_f16(f32 x) {
  if (x != x) return 0x7fff;
  const u16 sign = std::signbit(x) ? 0x8000 : 0;
  const f32 size = std::fabs(x);
  if (size >= 65520) return u16(sign | 0x7c00);  // half a step beyond the largest
  if (size < 0x1p-14f) return u16(sign | u16(std::nearbyint(std::ldexp(size, 24))));
  const int exponent = std::ilogb(size);
  // A fraction that rounds up to 2048 makes the exponent one larger by itself.
  return u16(sign | u16(((exponent + 14) << 10) + int(std::nearbyint(std::ldexp(size, 10 - exponent)))));
}

namespace {

/// Toward zero; what is too large becomes the largest, a NaN 0.
template <class D, class S>
D truncated(S x) {
  if (x != x) return 0;
  if (x <= S(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  if (x >= S(std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
  return D(x);
}

template <class D, class S>
void add_one(Table& t, const std::string& round) {
  line(t, "cvt" + round + "." + name_of_type<D>() + "." + name_of_type<S>(), "9.7.9.21", [](S x) -> D { return D(x); });
}
template <class S>
void add_from_integer(Table& t) {
  add_one<u8, S>(t, ""), add_one<u16, S>(t, ""), add_one<u32, S>(t, ""), add_one<u64, S>(t, "");
  add_one<s8, S>(t, ""), add_one<s16, S>(t, ""), add_one<s32, S>(t, ""), add_one<s64, S>(t, "");
  add_one<f32, S>(t, ".rn"), add_one<f64, S>(t, ".rn");
}
template <class D, class S>
void add_truncation(Table& t) {
  line(t, "cvt.rzi." + name_of_type<D>() + "." + name_of_type<S>(), "9.7.9.21",
       [](S x) -> D { return truncated<D, S>(x); });
}

}  // namespace

void add_conversions(Table& t) {
  add_from_integer<u8>(t), add_from_integer<u16>(t), add_from_integer<u32>(t), add_from_integer<u64>(t);
  add_from_integer<s8>(t), add_from_integer<s16>(t), add_from_integer<s32>(t), add_from_integer<s64>(t);
  add_truncation<s32, f32>(t), add_truncation<u32, f32>(t), add_truncation<s64, f32>(t);
  add_truncation<s32, f64>(t), add_truncation<u32, f64>(t), add_truncation<s64, f64>(t);
  add_one<f64, f32>(t, ""), add_one<f32, f64>(t, ".rn");
  line(t, "cvt.rni.f32.f32", "9.7.9.21", [](f32 x) { return std::nearbyint(x); });
  line(t, "cvt.rmi.f32.f32", "9.7.9.21", [](f32 x) { return std::floor(x); });
  line(t, "cvt.rpi.f32.f32", "9.7.9.21", [](f32 x) { return std::ceil(x); });
  line(t, "cvt.rmi.f64.f64", "9.7.9.21", [](f64 x) { return std::floor(x); });
  line(t, "cvt.rpi.f64.f64", "9.7.9.21", [](f64 x) { return std::ceil(x); });
  line(t, "cvt.sat.f32.f32", "9.7.9.21", [](f32 x) { return x > 0 ? std::fmin(x, 1.0f) : 0.0f; });  // a NaN becomes 0
  line(t, "cvt.f32.bf16", "9.7.9.21", [](u16 x) { return from_bf16(x); });
  line(t, "cvt.rn.bf16.f32", "9.7.9.21", [](f32 x) { return to_bf16(x); });
  line(t, "cvt.f32.f16", "9.7.9.21", [](u16 x) { return from_f16(x); });
  line(t, "cvt.rn.f16.f32", "9.7.9.21", [](f32 x) { return to_f16(x); });
  // Of two the first goes to the upper half.
  line(t, "cvt.rn.bf16x2.f32", "9.7.9.21", [](f32 a, f32 b) -> u32 { return u32(to_bf16(a)) << 16 | to_bf16(b); });
  line(t, "cvt.rn.f16x2.f32", "9.7.9.21", [](f32 a, f32 b) -> u32 { return u32(to_f16(a)) << 16 | to_f16(b); });
}

}  // namespace rungs::ptx
