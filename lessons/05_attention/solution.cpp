#include <algorithm>
#include <cmath>

#include "lesson.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_05 {

void softmax(Tensor& x) {
  const int64_t T = x.dim(0), S = x.dim(1);
  // >>> each row: subtract its maximum, take exp of each element, divide by their sum
  for (int64_t t = 0; t < T; ++t) {
    float max = x(t, 0);
    for (int64_t s = 1; s < S; ++s) max = std::max(max, x(t, s));
    float sum = 0;
    for (int64_t s = 0; s < S; ++s) {
      x(t, s) = std::exp(x(t, s) - max);
      sum += x(t, s);
    }
    for (int64_t s = 0; s < S; ++s) x(t, s) /= sum;
  }
  // <<<
}

void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t T = q.dim(0), D = q.dim(1), S = k.dim(0);

  Tensor scores({T, S});  // (T, S): query t, key s
  // >>> scores = q · kᵀ / √D, with matmul_transposed
  matmul_transposed(scores, q, k);
  for (int64_t i = 0; i < T * S; ++i) scores.flat(i) /= std::sqrt(float(D));
  // <<<
  tap("scores", scores);

  Tensor weights = scores.copy();  // (T, S): each row will sum to one
  // >>> weights = softmax of each row of scores
  softmax(weights);
  // <<<
  tap("weights", weights);

  // >>> out = weights · v, with matmul
  matmul(out, weights, v);
  // <<<
}

void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w) {
  const int64_t T = x.dim(0), D = w.q.weight.dim(0);
  Tensor q({T, D}), k({T, D}), v({T, D});  // (T, D)

  // >>> project x to q, k and v with w.q, w.k and w.v
  ops.linear(q, x, w.q.weight, w.q.bias);
  ops.linear(k, x, w.k.weight, w.k.bias);
  ops.linear(v, x, w.v.weight, w.v.bias);
  // <<<
  tap("q", q), tap("k", k), tap("v", v);

  Tensor attn_out({T, D});  // (T, D): what each token has read
  // >>> attn_out = sdpa of q, k and v
  sdpa(attn_out, q, k, v);
  // <<<
  tap("attn_out", attn_out);

  // >>> project attn_out back to the width of the stream with w.o
  ops.linear(out, attn_out, w.o.weight, w.o.bias);
  // <<<
}

}  // namespace lesson_05
