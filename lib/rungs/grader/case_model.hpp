/// What the cases of several lessons need: the weights of a case, and how `generate` is run.
#pragma once

#include <functional>
#include <vector>

#include "rungs/generate/generate.hpp"
#include "rungs/grader/case.hpp"
#include "rungs/grader/recording.hpp"
#include "rungs/model/cache.hpp"
#include "rungs/model/decoder.hpp"

namespace rungs {

/// The checkpoint under weights/ that the case names, opened once in a runner process. \throws FileError
const DecoderCheckpoint& model_of(const CaseInput& in);

/// Views of the inputs NAME.weight and NAME.bias. \throws FileError
LinearWeights linear_of(const CaseInput& in, const std::string& name);

/// Views of the inputs q, k, v and o. \throws FileError
AttentionWeights attention_of(const CaseInput& in);

/// A lesson's decoder_forward without a cache: ops, logits, tokens, weights.
using DecoderForward = void(Ops&, Tensor&, const Tensor&, const DecoderWeights&);

/// Runs `forward` on the input tokens and the case's model, and records its logits, (T, V).
void run_decoder_forward(const CaseInput& in, const std::function<DecoderForward>& forward, Recording& rec);

/// The same with a cache, from lesson 8 on: then also the cache and start_pos.
using CachedForward = void(Ops&, Tensor&, const Tensor&, const DecoderWeights&, KvCache&, int64_t);

/// Runs `forward` as the case says, and records its logits:
///   decoder_forward  one call at start_pos; layers.I.k and layers.I.v are the cache before and, recorded, after it
///   logits           all tokens in one call; only the logits of rows `from` and later
///   prompt           the tokens in calls of as many as `split` says, on one cache; with `before`, those went through
///                    the same cache first; with `beside`, they are another sequence, fed in step with it
void run_cached_forward(const CaseInput& in, CachedForward* forward, Recording& rec);

/// A copy of the inputs cache.k and cache.v: the case's own stay as they are. \throws FileError
LayerCache layer_cache_of(const CaseInput& in);

/// The inputs temperature, top_k and top_p. \throws FileError
SampleOptions sample_options_of(const CaseInput& in);

/// A lesson's generate: ops, weights, prompt, options, draw; returns the new tokens.
using Generate = std::vector<int32_t>(Ops&, const DecoderWeights&, const std::vector<int32_t>&, const GenerateOptions&,
                                      const std::function<double()>&);

/// Runs `generate` on the inputs prompt, max_tokens and draws, and records its tokens.
void run_generate(const CaseInput& in, Generate* generate, Recording& rec);

}  // namespace rungs
