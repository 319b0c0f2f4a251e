/// Lesson 11: rotary positions, so that only distances count.
#pragma once

#include "rungs/model/cache.hpp"
#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 11, 11_rope.
namespace lesson_11 {

using namespace rungs;

/// cos(p, i) and sin(p, i) = cosine and sine of the angle p / theta^(2i/D), by which pair i of a head turns at position
/// p.  cos, sin: (context, D/2).  Su and others 2021, "RoFormer", equation 15 and section 3.2.2.
void rope_table(Tensor& cos, Tensor& sin, double theta);

/// Turns each pair (x[i], x[i + D/2]) of every head by the angle of its row's position, in place: row t stands at
/// start_pos + t.  x: (T, H, D); cos, sin: (context, D/2).  "RoFormer", equation 34, with halves for pairs.
/// \throws ShapeError past the end of the table: nothing is clamped.
void apply_rope(Tensor& x, const Tensor& cos, const Tensor& sin, int64_t start_pos);

/// As in lesson 10, but queries and keys are rotated; keys come rotated into the cache.  rotary.cos, rotary.sin:
/// (context, D/2); all else as in lesson 10.
void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads, int64_t kv_heads,
               const RopeTables& rotary, LayerCache& cache, int64_t start_pos);

/// As in lesson 10 with w.rotary in each layer; the stream begins as the token embedding alone, without positions.
/// logits: (T, V); tokens: (T) i32.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos);

}  // namespace lesson_11
