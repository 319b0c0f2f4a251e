#include "sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rungs::ptx {

namespace {

constexpr s32 of_infinity_and_nan = 128;  // as an exponent

s32 exponent_of(f32 x) { return std::max(s32(std::bit_cast<u32>(x) >> 23 & 255), 1) - 127; }
s32 significand_of(f32 x) {
  const u32 bits = std::bit_cast<u32>(x);
  const s32 size = (bits & 0x7fffff) | (bits >> 23 & 255 ? 0x800000 : 0);
  return bits >> 31 ? -size : size;
}

/// total · 2^exponent, cut toward zero; beyond all floats an infinity, as a GPU has it. The exponents of floats and of
/// their products, less an adder's bits, are those of normal doubles, so the double is exact.
f32 cut_to_f32(s64 total, s32 exponent) {
  const f64 exact = f64(total) * std::bit_cast<f64>(u64(exponent + 1023) << 52);
  const f32 nearest = f32(exact);
  if (std::fabs(exact) >= 0x1p128 || std::fabs(f64(nearest)) <= std::fabs(exact)) return nearest;
  return std::bit_cast<f32>(std::bit_cast<u32>(nearest) - 1);
}

/// addend · 2^-lost, cut toward zero.
s64 cut(s64 addend, s32 lost) {
  const s64 negative = addend >> 63;  // 0 or -1
  const u64 size = u64((addend ^ negative) - negative);
  return (s64(size >> std::min(lost, 63)) ^ negative) - negative;
}

/// c + the products from `begin` on, a group of them. Its loops have no branches, so that the compiler makes vectors of
/// them.
template <Adder adder>
f32 add_group(f32 c, const Factors& a, const Factors& b, u32 begin) {
  constexpr u32 count = adder.products;
  s64 product[count];  // in units of 2^(exponent - 46)
  s32 exponent[count];
  s32 largest = exponent_of(c), of_factors = largest;
  for (u32 n = 0; n < count; ++n) {
    const u32 k = begin + n;
    product[n] = s64(a.significand[k]) * b.significand[k];
    exponent[n] = product[n] ? a.exponent[k] + b.exponent[k] : -1000;
    largest = std::max(largest, exponent[n]);
    of_factors = std::max({of_factors, a.exponent[k], b.exponent[k]});
  }
  if (of_factors == of_infinity_and_nan) {
    f64 sum = c;
    for (u32 k = begin; k < begin + count; ++k) sum += f64(a.value[k]) * b.value[k];
    if (!std::isfinite(sum)) return f32(sum);
  }

  const s32 unit = largest + 46 - adder.bits;  // of what is kept, the last bit
  s64 total = cut(s64(significand_of(c)) << 23, unit - exponent_of(c));
  for (u32 n = 0; n < count; ++n) total += cut(product[n], unit - exponent[n]);
  return cut_to_f32(total, largest - adder.bits);
}

template <Adder adder>
f32 add_groups(f32 c, const Factors& a, const Factors& b) {
  for (u32 k = 0; k < 16; k += adder.products) c = add_group<adder>(c, a, b, k);
  return c;
}

}  // namespace

void Factors::put(u32 k, f32 x) {
  value[k] = x;
  exponent[k] = exponent_of(x);
  significand[k] = significand_of(x);
}

f32 add_products(f32 c, const Factors& a, const Factors& b, Adder adder) {
  return adder.products == ampere.products ? add_groups<ampere>(c, a, b) : add_groups<hopper>(c, a, b);
}

}  // namespace rungs::ptx
