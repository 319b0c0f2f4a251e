/// Lesson 10: grouped-query attention, so that the cache shrinks.
#pragma once

#include "rungs/model/cache.hpp"
#include "rungs/model/config.hpp"
#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 10, 10_grouped_query.
namespace lesson_10 {

using namespace rungs;

/// Which of the `kv_heads` key/value heads is read by query head `head` of `heads`: neighbours share one.
int64_t kv_head_of(int64_t head, int64_t heads, int64_t kv_heads);

/// As in lesson 9, but query head h reads key/value head h / (H / G).  out, q: (T, H, D); k, v: (S, G, D).
/// Ainslie and others 2023, "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints".
/// \throws ShapeError when G does not divide H.
void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v);

/// As in lesson 9 with H = `heads` query heads and G = `kv_heads` key/value heads.  out, x: (T, C); Wq: (H·D, C);
/// Wk, Wv: (G·D, C); Wo: (C, H·D); cache.k, cache.v: (capacity, G, D), rows 0 to start_pos - 1 filled.
void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads, int64_t kv_heads,
               LayerCache& cache, int64_t start_pos);

/// As in lesson 9, with w.num_kv_heads key/value heads in each layer.  logits: (T, V); tokens: (T) i32.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos);

/// Bytes that the cache takes for `positions` tokens, with keys and values of all layers, at element_bytes for a
/// number. Counted from num_layers, num_kv_heads and head_dim of c; nothing is allocated.
int64_t cache_bytes(const Config& c, int64_t positions, int64_t element_bytes);

}  // namespace lesson_10
