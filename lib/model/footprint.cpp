#include "model/footprint.hpp"

namespace rungs {

Footprint footprint(const Config& c, int64_t sequences, int64_t context, int64_t rows) {
  constexpr int64_t f32 = 4, i32 = 4;
  const bool llama = c.model_type == "llama";
  const int64_t q_width = c.heads * c.head_width, kv_width = c.kv_heads * c.head_width;
  // x, normed, projected, wanted; q, context; k, v; hidden. Learned positions take another C, a gate another F.
  const int64_t floats = (llama ? 4 : 5) * c.width + 2 * q_width + 2 * kv_width + (llama ? 2 : 1) * c.inner_width;
  const int64_t ids = 4;  // token, sequence, position, wanted
  Footprint f;
  f.cache = 2 * c.layers * sequences * context * kv_width * f32;
  f.scratch = rows * (floats * f32 + ids * i32) + sequences * c.vocabulary * f32;
  f.angles = c.rotary ? context * c.head_width * f32 : 0;
  return f;
}

}  // namespace rungs
