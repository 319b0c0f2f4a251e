/// Lesson 8: the KV cache, so that no key and no value is computed twice.
#pragma once

#include <functional>
#include <vector>

#include "rungs/generate/generate.hpp"
#include "rungs/model/cache.hpp"
#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 8, 08_kv_cache.
namespace lesson_08 {

using namespace rungs;

/// out = softmax(mask(q · kᵀ / √D)) · v.  out, q: (T, D); k, v: (S, D), S >= T. The queries are the last T of the S
/// tokens: query t stands at position S - T + t and sees the keys up to there.
void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v);

/// As in lesson 6 for the T tokens at start_pos, start_pos + 1, ..., whose keys and values go into the cache; all rows
/// filled so far are attended to.  out, x: (T, C); cache.k, cache.v: (capacity, D), rows 0 to start_pos - 1 filled.
void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, LayerCache& cache, int64_t start_pos);

/// As in lesson 6 for the T tokens at start_pos, start_pos + 1, ...; the cache holds those before them.
/// logits: (T, V); tokens: (T) i32; one LayerCache a layer.
/// \throws ShapeError past the end of the cache or of the context: nothing is clamped.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos);

/// As in lesson 7, the same tokens; but each token is fed once.
std::vector<int32_t> generate(Ops& ops, const DecoderWeights& w, const std::vector<int32_t>& prompt,
                              const GenerateOptions& options, const std::function<double()>& draw);

}  // namespace lesson_08
