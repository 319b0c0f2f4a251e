/// Lesson 7: from logits to text, with temperature, top-k and top-p.
#pragma once

#include <functional>
#include <vector>

#include "rungs/generate/generate.hpp"
#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 7, 07_generate.
namespace lesson_07 {

using namespace rungs;

/// The distribution that the next token is drawn from: softmax of logits / temperature, cut down to the top_k most
/// probable tokens (0: all), then to the fewest of the most probable that reach top_p together (1: all); what is left
/// sums to one again. A temperature of 0 puts everything on the largest logit, the first of equals.  out, logits: (V).
/// Holtzman and others 2020, "The Curious Case of Neural Text Degeneration", section 3.1.
void probabilities(Tensor& out, const Tensor& logits, const SampleOptions& options);

/// The first token, in the order of ids, at which the running sum of the probabilities exceeds `draw`, a number in [0,
/// 1).
int32_t sample(const Tensor& probabilities, double draw);

/// Continues the prompt by up to options.max_tokens tokens, or until one of options.stop has come, kept. Calls draw()
/// once for each token and returns the new ones alone. There is no cache yet: every step feeds the whole sequence.
std::vector<int32_t> generate(Ops& ops, const DecoderWeights& w, const std::vector<int32_t>& prompt,
                              const GenerateOptions& options, const std::function<double()>& draw);

}  // namespace lesson_07
