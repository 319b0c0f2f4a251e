#include "rungs/tensor/quantize.hpp"

#include <algorithm>
#include <cmath>

namespace rungs {

/// Of a block: its largest magnitude, or NaN where one of it is no number, which so stays visible.
static float largest_of(const float* x) {
  float largest = 0;
  for (int64_t i = 0; i < block_elements; ++i)
    if (const float size = std::fabs(x[i]); size > largest || size != size) largest = size;
  return largest;
}

/// 1 / scale, or 0 where that is no finite number.
static float inverse_of(float scale) {
  const float inverse = 1 / scale;
  return std::isfinite(inverse) ? inverse : 0;
}

void quantize(q8_0* out, const float* x, int64_t n) {
  for (const float* end = x + n; x < end; x += block_elements, ++out) {
    const float scale = largest_of(x) / 127, inverse = inverse_of(scale);
    out->scale = to_f16(scale);
    for (int64_t i = 0; i < block_elements; ++i)
      out->q[i] = inverse != 0 ? int8_t(std::round(x[i] * inverse)) : int8_t(0);
  }
}

void quantize(q4_0* out, const float* x, int64_t n) {
  constexpr int64_t half = block_elements / 2;
  for (const float* end = x + n; x < end; x += block_elements, ++out) {
    const float largest = largest_of(x);
    const bool is_negative = std::find(x, x + block_elements, -largest) < std::find(x, x + block_elements, largest);
    const float scale = (is_negative ? largest : -largest) / 8, inverse = inverse_of(scale);
    out->scale = to_f16(scale);
    const auto nibble = [&](float value) {  // clamped between, so that no compiler fuses product and sum
      return inverse != 0 ? std::min(15, int(std::clamp(value * inverse, -8.0f, 8.0f) + 8.5f)) : 8;
    };
    for (int64_t i = 0; i < half; ++i) out->q[i] = uint8_t(nibble(x[i]) | nibble(x[i + half]) << 4);
  }
}

}  // namespace rungs
