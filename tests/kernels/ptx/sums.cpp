#include "sums.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace rungs::ptx {

Factor factor_of(f32 x) {
  const u32 bits = std::bit_cast<u32>(x), biased = bits >> 23 & 255;
  const s64 size = (bits & 0x7fffff) | (biased ? 0x800000 : 0);
  return {x, std::max(s32(biased), 1) - 127, bits >> 31 ? -size : size};
}

/// total · 2^exponent; beyond all floats an infinity, as a GPU has it.
static f32 cut_to_f32(s64 total, s32 exponent) {
  const f64 exact = std::ldexp(f64(total), exponent);
  if (std::fabs(exact) >= 0x1p128) return std::copysign(std::numeric_limits<f32>::infinity(), f32(total));
  const int mode = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  const f32 cut = f32(exact);
  std::fesetround(mode);
  return cut;
}

/// c + the products from `begin` on.
static f32 add_group(f32 c, const Factors& a, const Factors& b, u32 begin, Adder adder) {
  const u32 end = begin + adder.products;
  const Factor sum = factor_of(c);
  f64 plain = c;  // of infinities and NaN
  s32 largest = sum.exponent;
  for (u32 k = begin; k < end; ++k) {
    plain += f64(a[k].value) * b[k].value;
    if (a[k].significand != 0 && b[k].significand != 0) largest = std::max(largest, a[k].exponent + b[k].exponent);
  }
  if (!std::isfinite(plain)) return f32(plain);

  // In units of the last bit that an addend keeps; a product is a whole number of 2^(exponent - 46).
  const auto cut = [&](s64 addend, s32 exponent) {
    const s32 lost = std::min(largest - exponent + 46 - adder.bits, 63);
    return addend < 0 ? -(-addend >> lost) : addend >> lost;
  };
  s64 total = cut(sum.significand << 23, sum.exponent);
  for (u32 k = begin; k < end; ++k) total += cut(a[k].significand * b[k].significand, a[k].exponent + b[k].exponent);
  return cut_to_f32(total, largest - adder.bits);
}

f32 add_products(f32 c, const Factors& a, const Factors& b, Adder adder) {
  for (u32 k = 0; k < 16; k += adder.products) c = add_group(c, a, b, k, adder);
  return c;
}

}  // namespace rungs::ptx
