/// Lesson 4: the residual stream, and the feed-forward that adds to it.
#pragma once

#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 4, 04_feed_forward.
namespace lesson_04 {

using namespace rungs;

/// x = max(x, 0), element by element, in place.  x: any shape.
void relu(Tensor& x);

/// x += down(relu(up(LayerNorm(x)))), in place: the norm stands inside the branch, the stream itself is never
/// normalized. x: (T, C); w.up: (F, C); w.down: (C, F).
void feed_forward(Ops& ops, Tensor& x, const LayerWeights& w, float epsilon);

/// Embedding, the feed-forward of each layer, final LayerNorm, output projection.  logits: (T, V); tokens: (T) i32.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w);

}  // namespace lesson_04
