/// Lesson 9: several heads, so that a token looks in several ways at once.
#pragma once

#include "rungs/model/cache.hpp"
#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 9, 09_multi_head.
namespace lesson_09 {

using namespace rungs;

/// (N, H·D) seen as (N, H, D): head h has elements h·D to h·D + D - 1 of each row. The same memory, not a copy.
/// \throws ShapeError when `heads` does not divide the columns.
Tensor split_heads(Tensor& x, int64_t heads);

/// The way back, to read: (N, H, D) seen as (N, H·D). The same memory, not a copy.
ConstTensor merge_heads(const Tensor& x);

/// One head alone: x[:, head, :] of (N, H, D), copied to (N, D).
Tensor one_head(const Tensor& x, int64_t head);

/// Each head by itself, as in lesson 8: out = softmax(mask(q · kᵀ / √D)) · v.  out, q: (T, H, D); k, v: (S, H, D).
void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v);

/// As in lesson 8 with H = `heads` heads.  out, x: (T, C); Wq, Wk, Wv: (H·D, C); Wo: (C, H·D); cache.k, cache.v:
/// (capacity, H, D), rows 0 to start_pos - 1 filled.
void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads, LayerCache& cache,
               int64_t start_pos);

/// As in lesson 8, with w.num_heads heads in each layer.  logits: (T, V); tokens: (T) i32.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos);

}  // namespace lesson_09
