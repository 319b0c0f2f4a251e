/// Lesson 6: no token sees the future, and the model is whole.
#pragma once

#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 6, 06_causal_mask.
namespace lesson_06 {

using namespace rungs;

/// out = softmax(mask(q · kᵀ / √D)) · v, where the mask takes every key that stands after its query out of the softmax.
/// out, q, k, v: (T, D).
void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v);

/// out = sdpa(x·Wqᵀ + bq, x·Wkᵀ + bk, x·Wvᵀ + bv) · Woᵀ + bo.  out, x: (T, C); Wq, Wk, Wv: (D, C); Wo: (C, D).
void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w);

/// The whole decoder: embedding, L layers of attention and feed-forward, final LayerNorm, output projection.
/// logits: (T, V), row t scores the token after tokens[t]; tokens: (T) i32.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w);

}  // namespace lesson_06
