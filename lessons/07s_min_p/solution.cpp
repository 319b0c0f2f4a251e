#include <algorithm>

#include "05_attention/lesson.hpp"
#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_07s {

void keep_min_p(Tensor& p, double share) {
  const int64_t V = p.count();
  double least = 0;  // of a token that stays
  // >>> least = share times the largest probability
  least = share * *std::max_element(p.data(), p.data() + V);
  // <<<

  // >>> every token with less than that gets 0
  for (int64_t i = 0; i < V; ++i)
    if (p(i) < least) p(i) = 0;
  // <<<
  tap("kept", p);

  // >>> divide what is left by its sum
  double sum = 0;
  for (int64_t i = 0; i < V; ++i) sum += p(i);
  for (int64_t i = 0; i < V; ++i) p(i) = float(p(i) / sum);
  // <<<
}

void probabilities(Tensor& out, const Tensor& logits, double temperature, double share) {
  const int64_t V = logits.count();
  Tensor row = out.reshaped({1, V});  // the same memory as a matrix, for lesson_05::softmax
  // >>> out = softmax of logits / temperature
  for (int64_t i = 0; i < V; ++i) out(i) = float(logits(i) / temperature);
  lesson_05::softmax(row);
  // <<<
  tap("softmax", out);

  // >>> cut it with keep_min_p
  keep_min_p(out, share);
  // <<<
}

}  // namespace lesson_07s
