#include "ops/ops.hpp"

namespace rungs {

void Ops::attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                    LayerCache* cache) {
  for (const Run& run : rows.runs) {
    Tensor run_out = out.view_rows(run.first, run.count);    // (T, D)
    const Tensor run_q = q.view_rows(run.first, run.count);  // (T, D)
    const Tensor run_k = k.view_rows(run.first, run.count);  // (T, D)
    const Tensor run_v = v.view_rows(run.first, run.count);  // (T, D)
    if (!cache) {
      attend(run_out, run_q, run_k, run_v);
      continue;
    }
    const Tensor cached_k = cache->k[run.sequence], cached_v = cache->v[run.sequence];  // (capacity, D)
    Tensor new_k = cached_k.view_rows(run.start, run.count);                            // (T, D)
    Tensor new_v = cached_v.view_rows(run.start, run.count);                            // (T, D)
    copy(new_k, run_k);
    copy(new_v, run_v);
    const int64_t S = run.start + run.count;
    attend(run_out, run_q, cached_k.view_rows(0, S), cached_v.view_rows(0, S));
  }
}

}  // namespace rungs
