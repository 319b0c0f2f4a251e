#include <algorithm>
#include <cmath>

#include "lesson.hpp"
#include "rungs/base/error.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_08b {

void log_softmax(Tensor& out, const Tensor& logits) {
  const int64_t T = logits.dim(0), V = logits.dim(1);
  for (int64_t t = 0; t < T; ++t) {
    // >>> out(t, v) = logits(t, v) - maximum - ln(sum over the row of exp(logit - maximum)), for every v
    float maximum = logits(t, 0), sum = 0;
    for (int64_t v = 0; v < V; ++v) maximum = std::max(maximum, logits(t, v));
    for (int64_t v = 0; v < V; ++v) sum += std::exp(logits(t, v) - maximum);
    for (int64_t v = 0; v < V; ++v) out(t, v) = logits(t, v) - maximum - std::log(sum);
    // <<<
  }
}

/// How many rows have a token to predict. \throws UsageError when there is none
static int64_t counted_rows(const Tensor& tokens, int32_t end) {
  int64_t n = 0;
  for (int64_t t = 0; t + 1 < tokens.count(); ++t) n += tokens.at<int32_t>(t) != end;
  if (n == 0) throw UsageError("a loss needs at least one token that another comes after");
  return n;
}

double loss(const Tensor& logits, const Tensor& tokens, int32_t end) {
  const int64_t T = logits.dim(0), n = counted_rows(tokens, end);
  Tensor log_p(logits.shape());  // (T, V)
  log_softmax(log_p, logits);
  tap("log_p", log_p);

  double total = 0;
  // >>> total = the sum of -log_p of the token that came next, over the rows that are counted
  for (int64_t t = 0; t + 1 < T; ++t)
    if (tokens.at<int32_t>(t) != end) total += -log_p(t, tokens.at<int32_t>(t + 1));
  // <<<
  return total / double(n);
}

double perplexity(double loss) {
  double of_tokens = 0;
  // >>> of_tokens = e to the power of the loss
  of_tokens = std::exp(loss);
  // <<<
  return of_tokens;
}

void gradient(Tensor& out, const Tensor& logits, const Tensor& tokens, int32_t end) {
  const int64_t T = logits.dim(0), V = logits.dim(1), n = counted_rows(tokens, end);
  Tensor log_p(logits.shape());  // (T, V)
  log_softmax(log_p, logits);
  for (int64_t t = 0; t < T; ++t) {
    const bool is_counted = t + 1 < T && tokens.at<int32_t>(t) != end;
    for (int64_t v = 0; v < V; ++v) {
      // >>> out(t, v) = (p - y) / n in a row that is counted, else 0; p = exp(log_p(t, v)), y = 1 where v came next
      const float p = std::exp(log_p(t, v)), y = is_counted && v == tokens.at<int32_t>(t + 1) ? 1 : 0;
      out(t, v) = is_counted ? (p - y) / float(n) : 0;
      // <<<
    }
  }
}

double train_step(Ops& ops, Tensor& weight, Tensor& bias, const Tensor& x, const Tensor& tokens, int32_t end,
                  float rate) {
  const int64_t T = x.dim(0), V = weight.dim(0), C = weight.dim(1);
  Tensor logits({T, V}), d_logits({T, V});  // (T, V)
  ops.linear(logits, x, weight, bias);
  tap("logits", logits);
  const double before = loss(logits, tokens, end);
  gradient(d_logits, logits, tokens, end);
  tap("d_logits", d_logits);

  Tensor d_weight({V, C}), d_bias({V});  // (V, C), (V): the derivative of the loss by each number
  for (int64_t v = 0; v < V; ++v) {
    // >>> d_bias(v) = the sum over t of d_logits(t, v); d_weight(v, c) = the sum over t of d_logits(t, v) · x(t, c)
    d_bias(v) = 0;
    for (int64_t c = 0; c < C; ++c) d_weight(v, c) = 0;
    for (int64_t t = 0; t < T; ++t) {
      d_bias(v) += d_logits(t, v);
      for (int64_t c = 0; c < C; ++c) d_weight(v, c) += d_logits(t, v) * x(t, c);
    }
    // <<<
  }
  tap("d_weight", d_weight);
  tap("d_bias", d_bias);

  // >>> move weight and bias against their derivatives, by `rate` times as much
  for (int64_t i = 0; i < weight.count(); ++i) weight.flat(i) -= rate * d_weight.flat(i);
  for (int64_t v = 0; v < V; ++v) bias(v) -= rate * d_bias(v);
  // <<<
  return before;
}

}  // namespace lesson_08b
