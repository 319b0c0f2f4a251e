#include "rungs/ops/ops.hpp"

#include "rungs/base/error.hpp"

namespace rungs {

bool Rows::is_decode() const {
  if (int64_t(segments.size()) != token.count()) return false;
  for (size_t i = 1; i < segments.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (segments[i].sequence == segments[j].sequence) return false;
  return true;
}

void attention_by_segment(Ops& ops, Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                          LayerCache* cache, const AttentionOptions& options) {
  for (const Segment& s : rows.segments) {
    if (!s.blocks.empty())
      throw UsageError("a paged KV cache: this backend reads contiguous ones only, cpu and cuda both");
    Tensor out_s = out.view_rows(s.first, s.count);         // (T, H, D)
    const ConstTensor q_s = q.view_rows(s.first, s.count);  // (T, H, D)
    const ConstTensor k_s = k.view_rows(s.first, s.count);  // (T, G, D)
    const ConstTensor v_s = v.view_rows(s.first, s.count);  // (T, G, D)
    if (!cache) {
      ops.sdpa(out_s, q_s, k_s, v_s, options);
      continue;
    }
    Tensor cached_k = cache->k[s.sequence], cached_v = cache->v[s.sequence];  // (capacity, G, D)
    Tensor new_k = cached_k.view_rows(s.past, s.count);                       // (T, G, D)
    Tensor new_v = cached_v.view_rows(s.past, s.count);                       // (T, G, D)
    ops.copy(new_k, k_s);
    ops.copy(new_v, v_s);
    const int64_t S = s.past + s.count;
    ops.sdpa(out_s, q_s, cached_k.view_rows(0, S), cached_v.view_rows(0, S), options);
  }
}

}  // namespace rungs
