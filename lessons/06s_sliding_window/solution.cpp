#include <algorithm>
#include <cmath>
#include <limits>

#include "05_attention/lesson.hpp"
#include "lesson.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_06s {

using lesson_05::softmax;

void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, int64_t window) {
  const int64_t T = q.dim(0), D = q.dim(1);

  Tensor scores({T, T});  // (T, T): query t, key s
  matmul_transposed(scores, q, k);
  for (int64_t i = 0; i < T * T; ++i) scores.flat(i) /= std::sqrt(float(D));
  tap("scores", scores);

  Tensor weights = scores.copy();  // (T, T): each row will sum to one
  // >>> in `weights`, hide from query t every key that stands after it
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = t + 1; s < T; ++s) weights(t, s) = -std::numeric_limits<float>::infinity();
  // <<<
  // >>> hide every key that stands before its window, too; then softmax each row
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = 0; s <= t - window; ++s) weights(t, s) = -std::numeric_limits<float>::infinity();
  softmax(weights);
  // <<<
  tap("weights", weights);

  matmul(out, weights, v);
}

int64_t receptive_field(int64_t layers, int64_t window, int64_t T) {
  int64_t tokens = 1;
  // >>> one layer reaches window - 1 tokens further back, and none reaches past the beginning
  tokens = std::min(T, layers * (window - 1) + 1);
  // <<<
  return tokens;
}

}  // namespace lesson_06s
