#include <algorithm>

#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"

namespace lesson_08s {

/// What is in the cache, and how much of it.
static void record_cache(Recording& rec, const LayerCache& cache, int64_t filled) {
  Tensor count({1}, DType::i32);
  count.at<int32_t>(0) = int32_t(filled);
  rec.output("filled", count);
  const int64_t rows = std::min(std::max<int64_t>(filled, 0), cache.k.dim(0));
  rec.output("cache.k", cache.k.view_rows(0, rows));
  rec.output("cache.v", cache.v.view_rows(0, rows));
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const int64_t sinks = int64_t(in.scalar("sinks"));
  if (in.run == "make_room") {
    LayerCache cache = layer_cache_of(in);  // (capacity, D)
    const int64_t filled = pieces.make_room(cache, int64_t(in.scalar("filled")), sinks);
    record_cache(rec, cache, filled);
    return;
  }
  CountingOps ops(rec);
  const Tensor& x = in["x"];  // (N, C): one token after the other
  const AttentionWeights w = attention_of(in);
  const Shape rows{int64_t(in.scalar("capacity")), w.k.weight.dim(0)};  // (capacity, D)
  LayerCache cache{Tensor(rows), Tensor(rows)};
  int64_t filled = 0;
  for (int64_t n = 0; n < x.dim(0); ++n) {
    Tensor out({1, x.dim(1)});  // (1, C)
    pieces.attention(ops, out, x.view_rows(n, 1), w, cache, filled, sinks);
    rec.output("out", out);
  }
  record_cache(rec, cache, filled);
}

}  // namespace lesson_08s
