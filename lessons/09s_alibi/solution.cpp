#include <cmath>
#include <limits>

#include "05_attention/lesson.hpp"
#include "09_multi_head/lesson.hpp"
#include "lesson.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_09s {

using lesson_05::softmax;
using lesson_09::one_head;

void alibi_slopes(Tensor& out) {
  const int64_t H = out.count();
  int64_t P = 1;  // the largest power of two that is not above H
  while (2 * P <= H) P *= 2;
  // >>> the slopes of heads 0 to P - 1: 2^(-8/P), 2^(-16/P), ..., 2^(-8)
  for (int64_t h = 0; h < P; ++h) out(h) = float(std::exp2(-8.0 * double(h + 1) / double(P)));
  // <<<
  // >>> those of heads P to H - 1: the 1st, 3rd, 5th, ... of the slopes that 2·P heads have
  for (int64_t h = P; h < H; ++h) out(h) = float(std::exp2(-8.0 * double(2 * (h - P) + 1) / double(2 * P)));
  // <<<
}

void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes) {
  const int64_t T = q.dim(0), H = q.dim(1), D = q.dim(2), S = k.dim(0);

  Tensor weights({H, T, S});  // (H, T, S): head h, query t, key s
  for (int64_t h = 0; h < H; ++h) {
    Tensor weights_h = weights[h];  // (T, S): the memory of head h
    matmul_transposed(weights_h, one_head(q, h), one_head(k, h));
    // >>> divide the products by √D, and subtract the slope of this head times the distance of key s from query t
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = 0; s < S; ++s)
        weights_h(t, s) = weights_h(t, s) / std::sqrt(float(D)) - slopes(h) * float(S - T + t - s);
    // <<<
    // >>> the mask of lesson 9, then softmax
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = S - T + t + 1; s < S; ++s) weights_h(t, s) = -std::numeric_limits<float>::infinity();
    softmax(weights_h);
    // <<<
  }
  tap("weights", weights);

  for (int64_t h = 0; h < H; ++h) {
    Tensor read({T, D});  // (T, D): what head h reads
    matmul(read, weights[h], one_head(v, h));
    for (int64_t t = 0; t < T; ++t)
      for (int64_t d = 0; d < D; ++d) out(t, h, d) = read(t, d);
  }
}

}  // namespace lesson_09s
