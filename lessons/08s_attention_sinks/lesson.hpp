/// Lesson 8s: attention sinks, and a cache that never grows.
#pragma once

#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// The stretch of lesson 8, 08s_attention_sinks.
namespace lesson_08s {

using namespace rungs;

/// Makes room for the key and value of one more token, and returns how many rows are filled then. Where the cache is
/// not full, nothing changes. Where it is, the first `sinks` rows stay, the oldest row after them goes, and those after
/// that move up by one.  cache.k, cache.v: (capacity, D), rows 0 to filled - 1 filled; sinks: below capacity. Xiao and
/// others 2023, "Efficient Streaming Language Models with Attention Sinks", section 3.2.
int64_t make_room(LayerCache& cache, int64_t filled, int64_t sinks);

/// The attention of lesson 8 for one token, which reads the first `sinks` tokens of the text and as many of the last
/// ones as the cache has room for.  out, x: (1, C); Wq, Wk, Wv: (D, C); Wo: (C, D); `filled` counts the rows of the
/// cache that are filled, and is one more afterwards until the cache is full.
void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, LayerCache& cache, int64_t& filled,
               int64_t sinks);

}  // namespace lesson_08s
