/// Lesson 7s: min-p, a cut that follows how sure the model is.
#pragma once

#include "rungs/tensor/tensor.hpp"

/// The stretch of lesson 7, 07s_min_p.
namespace lesson_07s {

using namespace rungs;

/// Keeps the tokens whose probability is at least `share` times the largest one, sets the others to 0, and divides what
/// is left by its sum.  p: (V), sums to one; share: from 0, which keeps all, to 1, which keeps the largest.
/// Nguyen and others 2024, "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs", section 3.
void keep_min_p(Tensor& p, double share);

/// The distribution that the next token is drawn from: softmax of logits / temperature, cut by keep_min_p.
/// out, logits: (V); temperature: above 0.
void probabilities(Tensor& out, const Tensor& logits, double temperature, double share);

}  // namespace lesson_07s
