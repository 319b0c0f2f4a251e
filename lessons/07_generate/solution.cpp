#include <algorithm>
#include <cmath>
#include <numeric>

#include "05_attention/lesson.hpp"
#include "06_causal_mask/lesson.hpp"
#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_07 {

/// All ids, the most probable first; of equals the lower id first.
static std::vector<int64_t> ranked(const Tensor& probabilities) {
  std::vector<int64_t> ids(size_t(probabilities.count()));
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int64_t a, int64_t b) { return probabilities(a) > probabilities(b); });
  return ids;
}

/// Makes what is left sum to one again.
static void divide_by_sum(Tensor& p) {
  double sum = 0;
  for (int64_t i = 0; i < p.count(); ++i) sum += p(i);
  for (int64_t i = 0; i < p.count(); ++i) p(i) = float(p(i) / sum);
}

void probabilities(Tensor& out, const Tensor& logits, const SampleOptions& options) {
  const int64_t V = logits.count();

  // >>> where the temperature is 0: probability 1 for the largest logit, 0 for the others, and return
  if (options.temperature == 0) {
    int64_t best = 0;
    for (int64_t i = 1; i < V; ++i)
      if (logits(i) > logits(best)) best = i;
    for (int64_t i = 0; i < V; ++i) out(i) = i == best ? 1.0f : 0.0f;
    return;
  }
  // <<<

  Tensor row = out.reshaped({1, V});  // the same memory as a matrix, for lesson_05::softmax
  // >>> divide the logits by the temperature, then softmax
  for (int64_t i = 0; i < V; ++i) out(i) = float(logits(i) / options.temperature);
  lesson_05::softmax(row);
  // <<<

  const std::vector<int64_t> ids = ranked(out);  // the most probable first
  // >>> top-k, unless it is 0: the first options.top_k of `ids` stay, all others get 0; then divide_by_sum
  if (options.top_k != 0) {
    for (int64_t i = options.top_k; i < V; ++i) out(ids[size_t(i)]) = 0;
    divide_by_sum(out);
  }
  // <<<

  // >>> top-p, unless it is 1: the first of `ids` whose sum reaches it stay, all others get 0; then divide_by_sum
  if (options.top_p < 1) {
    double sum = 0;
    for (const int64_t id : ids) {
      const float p = out(id);
      if (sum >= options.top_p) out(id) = 0;
      sum += p;
    }
    divide_by_sum(out);
  }
  // <<<
}

int32_t sample(const Tensor& probabilities, double draw) {
  const int64_t V = probabilities.count();
  // >>> add up the probabilities in the order of ids; return the first id at which the sum exceeds the draw
  double sum = 0;
  int64_t last = 0;  // where rounding leaves the sum below the draw: the last token that is possible at all
  for (int64_t i = 0; i < V; ++i) {
    sum += probabilities(i);
    if (sum > draw) return int32_t(i);
    if (probabilities(i) > 0) last = i;
  }
  return int32_t(last);
  // <<<
}

std::vector<int32_t> generate(Ops& ops, const DecoderWeights& w, const std::vector<int32_t>& prompt,
                              const GenerateOptions& options, const std::function<double()>& draw) {
  const int64_t V = w.output.weight.dim(0);
  std::vector<int32_t> sequence = prompt, made;

  while (int64_t(made.size()) < options.max_tokens) {
    const int64_t T = int64_t(sequence.size());
    const Tensor tokens = Tensor::view_of(sequence.data(), {T}, DType::i32);  // (T)
    Tensor next({1, V});                                                      // (1, V): scores of the token to come

    // >>> logits of the sequence so far, with lesson_06::decoder_forward; `next` is a copy of the row of its last token
    Tensor logits({T, V});
    lesson_06::decoder_forward(ops, logits, tokens, w);
    next = logits.view_rows(T - 1, 1).copy();
    // <<<
    tap("logits", next);

    Tensor p({V});  // (V)
    // >>> draw a token from the probabilities of next[0], the row as (V); append it to `sequence` and to `made`
    probabilities(p, next[0], options.sampling);
    const int32_t token = sample(p, draw());
    sequence.push_back(token);
    made.push_back(token);
    // <<<
    if (options.ends(made.back())) break;
  }
  return made;
}

}  // namespace lesson_07
