/// The decoder of part I around an attention that the caller brings.
#pragma once

#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

namespace rungs {

/// What every token reads of the others.  out, x: (T, C).
using AttentionFunction = void(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w);

/// The logits of a text from its first token on, without a cache: embedding, layers of `attention` and the
/// feed-forward, final LayerNorm, output projection. So an attention that is no part of the engine, as the one of
/// lesson 5, which hides nothing, is tried in a whole model.  logits: (T, V); tokens: (T) i32. \throws ShapeError for a
/// token outside the vocabulary and for more tokens than positions
void decoder_around(AttentionFunction* attention, Ops& ops, Tensor& logits, const Tensor& tokens,
                    const DecoderWeights& w);

}  // namespace rungs
