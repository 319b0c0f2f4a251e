/// What the cases of several lessons need: the weights of a case, and how `generate` is run.
#pragma once

#include <functional>
#include <vector>

#include "grade/case.hpp"
#include "grade/recording.hpp"
#include "model/decoder.hpp"
#include "text/generate.hpp"

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
void run_decoder_forward(const CaseInput& in, DecoderForward* forward, Recording& rec);

/// The inputs temperature, top_k and top_p. \throws FileError
SampleOptions sample_options_of(const CaseInput& in);

/// A lesson's generate: ops, weights, prompt, options, draw; returns the new tokens.
using Generate = std::vector<int32_t>(Ops&, const DecoderWeights&, const std::vector<int32_t>&, const GenerateOptions&,
                                      const std::function<double()>&);

/// Runs `generate` on the inputs prompt, max_tokens and draws, and records its tokens.
void run_generate(const CaseInput& in, Generate* generate, Recording& rec);

}  // namespace rungs
