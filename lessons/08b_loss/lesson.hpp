/// Lesson 8b: loss, the number that training makes small; and one layer that learns.
#pragma once

#include "rungs/ops/ops.hpp"
#include "rungs/tensor/tensor.hpp"

/// Lesson 8b, 08b_loss.
namespace lesson_08b {

using namespace rungs;

/// out = ln softmax(logits), row by row, without a logarithm of a number that became 0.  out, logits: (T, V).
void log_softmax(Tensor& out, const Tensor& logits);

/// Cross-entropy in nats a token: the mean of -ln p(tokens[t + 1]) over t = 0, ..., T - 2, where p is the softmax of
/// row t, which was computed from the tokens up to t. A row whose own token is `end` is left out: what follows it is
/// another text. logits: (T, V); tokens: (T) i32.
double loss(const Tensor& logits, const Tensor& tokens, int32_t end);

/// Among how many equally probable tokens the model would hesitate as much: e to the power of the loss.
double perplexity(double loss);

/// out = the derivative of the loss by each logit: (p - y) / n for the n rows that are counted, where y is 1 at the
/// token that came and 0 elsewhere; 0 in all other rows.  out, logits: (T, V); tokens: (T) i32.
void gradient(Tensor& out, const Tensor& logits, const Tensor& tokens, int32_t end);

/// One step of gradient descent on the output projection alone: logits = x · weightᵀ + bias, then each number of weight
/// and bias moves by -rate times the derivative of the loss by it. Returns the loss before the step. weight: (V, C);
/// bias: (V); x: (T, C), the rows behind the final norm; tokens: (T) i32.
double train_step(Ops& ops, Tensor& weight, Tensor& bias, const Tensor& x, const Tensor& tokens, int32_t end,
                  float rate);

}  // namespace lesson_08b
