/// Lesson 12: RMSNorm, LayerNorm without the mean.
#pragma once

#include "rungs/model/cache.hpp"
#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 12, 12_rms_norm.
namespace lesson_12 {

using namespace rungs;

/// Each row for itself: out = x / √(mean of x² + epsilon) · weight. Nothing is subtracted and nothing added.
/// out, x: (T, C); weight: (C).  Zhang, Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon);

/// As in lesson 4 with the new norm: x += down(relu(up(RMSNorm(x)))), in place.
/// x: (T, C); w.up: (F, C); w.down: (C, F); w.ffn_norm has no bias.
void feed_forward(Ops& ops, Tensor& x, const LayerWeights& w, float epsilon);

/// As in lesson 11, with RMSNorm in all three places.  logits: (T, V); tokens: (T) i32; one LayerCache a layer.
/// \throws ShapeError past the end of the cache or of the context: nothing is clamped.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos);

/// ops.add(x, y) and rms_norm(out, x, weight, epsilon) as one operation, which reads and writes every number once:
/// x += y; out = RMSNorm(x) of the new x.  out, x, y: (T, C); weight: (C).
void add_rms_norm(Tensor& out, Tensor& x, const Tensor& y, const Tensor& weight, float epsilon);

}  // namespace lesson_12
