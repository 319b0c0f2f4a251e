/// Quantization: neighbours of a row become small whole numbers with one scale, as GGUF's types have it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// Each block: scale = max |x| / 127, in f16; q = x / scale, rounded, halves away from zero. `n`: elements, whole
/// blocks.
void quantize(q8_0* out, const float* x, int64_t n);
/// Each block: scale = m / -8, in f16, where m is the element of the largest magnitude, which so becomes nibble 0
/// without an error; the others x / scale + 8, rounded and at most 15.
void quantize(q4_0* out, const float* x, int64_t n);

/// The whole number of element i of a block, times the scale of its group.
inline int number_of(const q8_0& block, int64_t i) { return block.q[i]; }
/// The same of another type.
inline int number_of(const q4_0& block, int64_t i) {
  return (i < block_elements / 2 ? block.q[i] & 15 : block.q[i - block_elements / 2] >> 4) - 8;
}

/// What 6 bits say of a group.
struct GroupOfQ4K {
  int scale, min;
};
/// Of group g, 0 to 7: scales and mins of the first four are the low 6 bits of 4 bytes each; of the last four the low
/// nibbles are in the third 4 bytes, and two bits in the high end of those of the group four before.
inline GroupOfQ4K group_of(const q4_k& block, int64_t g) {
  const uint8_t* b = block.groups;
  if (g < 4) return {b[g] & 63, b[g + 4] & 63};
  return {(b[g + 4] & 15) | b[g - 4] >> 6 << 4, b[g + 4] >> 4 | b[g] >> 6 << 4};
}
/// The same of another type, without the min.
inline int number_of(const q4_k& block, int64_t i) {
  const int64_t g = i / 32;
  const int byte = block.q[g / 2 * 32 + i % 32];
  return (g % 2 ? byte >> 4 : byte & 15) * group_of(block, g).scale;
}

/// The same of another type.
inline int number_of(const q6_k& block, int64_t i) {
  const int64_t half = i / 128, part = i / 32 % 4, at = i % 32;
  const int low = block.low[half * 64 + part % 2 * 32 + at], high = block.high[half * 32 + at] >> 2 * part & 3;
  return ((part < 2 ? low & 15 : low >> 4) + (high << 4) - 32) * block.groups[i / 16];
}

/// Element i of a block.
template <class Q>
float value_of(const Q& block, int64_t i) {
  const float value = to_float(block.scale) * float(number_of(block, i));
  if constexpr (std::is_same_v<Q, q4_k>) {
    const int64_t group = i / block_elements;
    return value - to_float(block.min_scale) * float(group_of(block, group).min);
  }
  return value;
}

}  // namespace rungs
