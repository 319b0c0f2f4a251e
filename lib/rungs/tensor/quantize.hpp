/// Quantization: 32 neighbours of a row become small whole numbers and one scale, as GGUF's types Q8_0 and Q4_0 have
/// it.
#pragma once

#include <cstdint>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// Each block: scale = max |x| / 127, in f16; q = x / scale, rounded, halves away from zero. `n`: elements, whole
/// blocks.
void quantize(q8_0* out, const float* x, int64_t n);
/// Each block: scale = m / -8, in f16, where m is the element of the largest magnitude, which so becomes nibble 0
/// without an error; the others x / scale + 8, rounded and at most 15.
void quantize(q4_0* out, const float* x, int64_t n);

/// Element i of a block.
inline float value_of(const q8_0& block, int64_t i) { return float(block.q[i]) * to_float(block.scale); }
/// Element i of a block.
inline float value_of(const q4_0& block, int64_t i) {
  const int nibble = i < block_elements / 2 ? block.q[i] & 15 : block.q[i - block_elements / 2] >> 4;
  return float(nibble - 8) * to_float(block.scale);
}

}  // namespace rungs
