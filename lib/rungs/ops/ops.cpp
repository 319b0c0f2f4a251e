#include "rungs/ops/ops.hpp"

#include "rungs/ops/require.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

void Ops::settle(std::initializer_list<Tensor*>) {}

void Ops::replay(const StepKey&, const std::function<void()>& step) { step(); }

bool Ops::choose(std::span<int32_t>, const Tensor&, const SampleOptions&, std::span<const double>) { return false; }

void Ops::norm_qkv(Tensor& normed, Tensor& q, Tensor& k, Tensor& v, const Tensor& x, const QkvWeights& w,
                   const RopeTables& rotary, const Rows& rows) {
  Tensor q_joined = joined_heads(q), k_joined = joined_heads(k),
         v_joined = joined_heads(v);  // (N, H·D), (N, G·D), (N, G·D)
  rms_norm(normed, x, w.norm, w.epsilon);
  linear(q_joined, normed, w.q, {});
  linear(k_joined, normed, w.k, {});
  linear(v_joined, normed, w.v, {});
  apply_rope(q, rotary, rows.position);
  apply_rope(k, rotary, rows.position);
}

void Ops::norm_gated(Tensor& normed, Tensor& hidden, Tensor& up, const Tensor& x, const GatedWeights& w) {
  rms_norm(normed, x, w.norm, w.epsilon);
  linear(hidden, normed, w.gate, {});
  linear(up, normed, w.up, {});
  silu_mul(hidden, up);
}

void Ops::self_attention(Tensor& out, const QkvScratch& s, const Tensor& x, const QkvWeights& w, const RopeTables& rotary,
                         const Rows& rows, LayerCache* cache) {
  norm_qkv(s.normed, s.q, s.k, s.v, x, w, rotary, rows);
  tap("q", s.q), tap("k", s.k), tap("v", s.v);
  attention(out, s.q, s.k, s.v, rows, cache);
}

void Ops::add_linear(Tensor& x, Tensor& product, const Tensor& y, const Tensor& weight) {
  linear(product, y, weight, {});
  add(x, product);
}

void Ops::attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                    LayerCache* cache) {
  for (const Run& run : rows.runs) {
    Tensor run_out = out.view_rows(run.first, run.count);    // (T, H, D)
    const Tensor run_q = q.view_rows(run.first, run.count);  // (T, H, D)
    const Tensor run_k = k.view_rows(run.first, run.count);  // (T, G, D)
    const Tensor run_v = v.view_rows(run.first, run.count);  // (T, G, D)
    if (!cache) {
      sdpa(run_out, run_q, run_k, run_v);
      continue;
    }
    const Tensor cached_k = cache->k[run.sequence], cached_v = cache->v[run.sequence];  // (capacity, G, D)
    Tensor new_k = cached_k.view_rows(run.start, run.count);                            // (T, G, D)
    Tensor new_v = cached_v.view_rows(run.start, run.count);                            // (T, G, D)
    copy(new_k, run_k);
    copy(new_v, run_v);
    const int64_t S = run.start + run.count;
    sdpa(run_out, run_q, cached_k.view_rows(0, S), cached_v.view_rows(0, S));
  }
}

}  // namespace rungs
