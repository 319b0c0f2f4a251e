#include "rungs/ops/steps.hpp"

#include "rungs/ops/require.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

void Steps::norm_qkv(const Qkv& out, Tensor& normed, const Tensor& x, const NormRef& norm, const QkvWeights& w,
                     const RopeTables& rope, const Rows& rows) {
  Tensor q = flat_heads(out.q), k = flat_heads(out.k), v = flat_heads(out.v);  // (N, H·D), (N, G·D), (N, G·D)
  ops_.rms_norm(normed, x, norm.weight, norm.epsilon);
  ops_.linear(q, normed, w.q, {});
  ops_.linear(k, normed, w.k, {});
  ops_.linear(v, normed, w.v, {});
  ops_.apply_rope(out.q, rope, rows.position);
  ops_.apply_rope(out.k, rope, rows.position);
}

void Steps::self_attention(Tensor& out, const Qkv& s, Tensor& normed, const Tensor& x, const NormRef& norm,
                           const QkvWeights& w, const RopeTables& rope, const Rows& rows, LayerCache* cache,
                           const AttentionOptions& options) {
  norm_qkv(s, normed, x, norm, w, rope, rows);
  tap("q", s.q), tap("k", s.k), tap("v", s.v);
  ops_.attention(out, s.q, s.k, s.v, rows, cache, options);
}

void Steps::norm_swiglu(Tensor& out, Tensor& up, Tensor& normed, const Tensor& x, const NormRef& norm,
                        const GateUpWeights& w) {
  ops_.rms_norm(normed, x, norm.weight, norm.epsilon);
  ops_.linear(out, normed, w.gate, {});
  ops_.linear(up, normed, w.up, {});
  ops_.silu_mul(out, up);
}

void Steps::add_linear(Tensor& x, Tensor& product, const Tensor& y, const Tensor& weight) {
  ops_.linear(product, y, weight, {});
  ops_.add(x, product);
}

void Steps::decode(const void*, const Tensor&, const Rows&, const LayerCache&, const std::function<void()>& step) {
  step();
}

bool Steps::sample(std::span<int32_t>, const Tensor&, const SampleOptions&, std::span<const double>) { return false; }

}  // namespace rungs
