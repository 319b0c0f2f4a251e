#include "08_kv_cache/lesson.hpp"
#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_08s {

int64_t make_room(LayerCache& cache, int64_t filled, int64_t sinks) {
  const int64_t capacity = cache.k.dim(0), D = cache.k.dim(1);
  // >>> where the cache is not full, return `filled`
  if (filled < capacity) return filled;
  // <<<
  // >>> move rows sinks + 1, sinks + 2, ... of k and v up by one; return how many rows are filled now
  for (int64_t r = sinks; r + 1 < capacity; ++r)
    for (int64_t d = 0; d < D; ++d) {
      cache.k(r, d) = cache.k(r + 1, d);
      cache.v(r, d) = cache.v(r + 1, d);
    }
  return capacity - 1;
  // <<<
}

void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, LayerCache& cache, int64_t& filled,
               int64_t sinks) {
  const int64_t D = w.q.weight.dim(0);
  Tensor q({1, D});  // (1, D)
  ops.linear(q, x, w.q.weight, w.q.bias);
  tap("q", q);

  // >>> make room for this token
  filled = make_room(cache, filled, sinks);
  // <<<
  // >>> project x to the row of the cache that is free now, of keys and of values; count it
  Tensor new_k = cache.k.view_rows(filled, 1), new_v = cache.v.view_rows(filled, 1);  // (1, D)
  ops.linear(new_k, x, w.k.weight, w.k.bias);
  ops.linear(new_v, x, w.v.weight, w.v.bias);
  ++filled;
  // <<<

  Tensor attn_out({1, D});  // (1, D): what the token has read
  // >>> attn_out = lesson_08::sdpa over the rows that are filled
  lesson_08::sdpa(attn_out, q, cache.k.view_rows(0, filled), cache.v.view_rows(0, filled));
  // <<<
  tap("attn_out", attn_out);
  ops.linear(out, attn_out, w.o.weight, w.o.bias);
}

}  // namespace lesson_08s
