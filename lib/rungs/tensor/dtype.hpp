/// The element types of a tensor.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rungs {

/// f32 and f64 are IEEE floats, bf16 the upper half of an f32, f16 the IEEE half, i32 and i64 signed integers. The
/// others are quantized: neighbours of a row share a scale, 32 in q8_0 and q4_0. In q4_k and q6_k 256 share an f16, and
/// groups of them a small integer each.
enum class DType : uint8_t { f32, f64, bf16, f16, i32, i64, q8_0, q4_0, q4_k, q6_k };

/// Bits of a bfloat16: sign, 8 bits of exponent, 7 of fraction.
struct bf16 {
  uint16_t bits;
};

/// Bits of an IEEE half: sign, 5 bits of exponent, 10 of fraction.
struct f16 {
  uint16_t bits;
};

/// Elements of a block of q8_0 and q4_0; of what x is quantized in; of a group in the larger blocks.
inline constexpr int64_t block_elements = 32;
/// Elements of a block of q4_k and q6_k.
inline constexpr int64_t large_block_elements = 256;

/// Element i is q[i] · scale. The layout is that of GGUF.
struct q8_0 {
  f16 scale;
  int8_t q[block_elements];
};

/// Element i is (nibble i - 8) · scale: the low nibbles of the 16 bytes are elements 0 to 15, the high ones 16 to 31.
/// The layout is that of GGUF.
struct q4_0 {
  f16 scale;
  uint8_t q[block_elements / 2];
};

/// Eight groups of 32, each with a scale and a min of 6 bits: an element is nibble · group's scale · scale
/// - group's min · min_scale. Of 32 bytes the low nibbles are one group, the high ones the next. The layout is GGUF's.
struct q4_k {
  f16 scale, min_scale;
  uint8_t groups[12];  ///< scales and mins: rungs/tensor/quantize.hpp takes them apart
  uint8_t q[large_block_elements / 2];
};

/// 16 groups of 16, each with a scale of 8 bits: an element is (its 6 bits - 32) · group's scale · scale. In each half,
/// 64 bytes hold the low four bits and 32 the high two, of elements 32 apart. The layout is GGUF's.
struct q6_k {
  uint8_t low[large_block_elements / 2], high[large_block_elements / 4];
  int8_t groups[large_block_elements / 16];
  f16 scale;
};

/// 1 where each element stands alone.
constexpr int64_t elements_of_block(DType type) {
  if (type == DType::q8_0 || type == DType::q4_0) return block_elements;
  return type == DType::q4_k || type == DType::q6_k ? large_block_elements : 1;
}

/// Whether elements come in blocks.
constexpr bool is_quantized(DType type) { return elements_of_block(type) > 1; }

/// Bytes of one element, or of one block.
constexpr size_t bytes_of(DType type) {
  switch (type) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::q8_0:
      return sizeof(q8_0);
    case DType::q4_0:
      return sizeof(q4_0);
    case DType::q4_k:
      return sizeof(q4_k);
    case DType::q6_k:
      return sizeof(q6_k);
  }
  return 0;
}

/// Bytes of so many elements, whole blocks of them.
constexpr size_t bytes_of(DType type, int64_t count) {
  return size_t(count / elements_of_block(type)) * bytes_of(type);
}

/// "f32", "bf16", ...
constexpr std::string_view name_of(DType type) {
  constexpr std::string_view names[] = {"f32", "f64", "bf16", "f16", "i32", "i64", "q8_0", "q4_0", "q4_k", "q6_k"};
  return names[size_t(type)];
}

/// The DType of a C++ type.
template <class T>
inline constexpr DType dtype_of = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<bf16> = DType::bf16;
template <>
inline constexpr DType dtype_of<f16> = DType::f16;
template <>
inline constexpr DType dtype_of<int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<q8_0> = DType::q8_0;
template <>
inline constexpr DType dtype_of<q4_0> = DType::q4_0;
template <>
inline constexpr DType dtype_of<q4_k> = DType::q4_k;
template <>
inline constexpr DType dtype_of<q6_k> = DType::q6_k;

/// Exact.
constexpr float to_float(bf16 x) { return std::bit_cast<float>(uint32_t(x.bits) << 16); }

/// Exact. A half's subnormal is fraction · 2⁻²⁴.
constexpr float to_float(f16 x) {
  const uint32_t sign = uint32_t(x.bits & 0x8000u) << 16, exponent = x.bits >> 10 & 31, fraction = x.bits & 1023;
  if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(fraction) * 0x1p-24f));
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

/// Rounds to the nearest, ties to even; NaN stays NaN.
constexpr bf16 to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), nearest = bits + 0x7fff + (bits >> 16 & 1);
  return {uint16_t((x != x ? bits | 0x400000 : nearest) >> 16)};
}

/// Rounds to the nearest, ties to even; what is too large becomes infinity, NaN stays NaN. With its exponent 2ᵉ, the
/// sum of x and 2ᵉ⁺¹³ is rounded to multiples of 2ᵉ⁻¹⁰, and subnormals to those of 2⁻²⁴. No branch: loops do several at
/// once.
constexpr f16 to_f16(float x) {
  constexpr uint32_t least_exponent = 0x38800000, too_large = 0x47800000, infinity = 0x7f800000;  // 2⁻¹⁴, 2¹⁶
  const uint32_t bits = std::bit_cast<uint32_t>(x), all = bits & 0x7fffffffu;
  const uint32_t magnitude = all < too_large ? all : too_large, own_exponent = magnitude & infinity;
  const uint32_t exponent = own_exponent > least_exponent ? own_exponent : least_exponent;
  const uint32_t added = exponent + (13u << 23);
  const uint32_t sum = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(added));
  const uint32_t half = ((exponent - least_exponent) >> 13) + (sum - added), nan = all > infinity ? 0x200 : 0;
  return {uint16_t((bits >> 16 & 0x8000u) | half | nan)};
}

}  // namespace rungs
