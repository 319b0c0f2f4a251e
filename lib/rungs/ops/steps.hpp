/// The steps of a decoder where fusion pays.
#pragma once

#include <functional>
#include <span>

#include "rungs/ops/ops.hpp"
#include "rungs/ops/sample_options.hpp"

namespace rungs {

/// The projections of attention. They read the same input, so a device may lay them out as one matrix.
struct QkvWeights {
  ConstTensor q;       ///< (H·D, C)
  ConstTensor k, v;    ///< (G·D, C)
  ConstTensor packed;  ///< ((H + 2G)·D, C), or empty: see Device::pack_weights
};

/// The two projections that SwiGLU begins with.
struct GateUpWeights {
  ConstTensor gate, up;  ///< (F, C)
  ConstTensor packed;    ///< (2F, C), or empty
};

/// Where the projections of attention go.
struct Qkv {
  Tensor &q, &k, &v;  ///< (N, H, D), (N, G, D), (N, G, D)
};

/// An RMSNorm.
struct NormRef {
  const Tensor& weight;  ///< (C)
  float epsilon;
};

/// Steps that are several operations each. What stands here is plain: written once in terms of Ops, it is what the
/// learner's own code, naive CUDA and whoever watches taps run. A device overrides where one kernel can do more. Names
/// that say `scratch` may be left unwritten by a fused version.
class Steps {
 public:
  explicit Steps(Ops& ops) : ops_(ops) {}
  virtual ~Steps() = default;
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  /// q, k, v = the projections of rms_norm(x), q and k rotated.  x, scratch: (N, C).
  virtual void norm_qkv(const Qkv& out, Tensor& scratch, const Tensor& x, const NormRef& norm, const QkvWeights& w,
                        const RopeTables& rope, const Rows& rows);
  /// out = the attention of rms_norm(x): norm_qkv, then attention.  out: (N, H, D); x, scratch: (N, C).
  virtual void self_attention(Tensor& out, const Qkv& scratch_qkv, Tensor& scratch, const Tensor& x,
                              const NormRef& norm, const QkvWeights& w, const RopeTables& rope, const Rows& rows,
                              LayerCache* cache, const AttentionOptions& options = {});
  /// out = silu(normed · gateᵀ) ∘ (normed · upᵀ) with normed = rms_norm(x).  out, scratch_up: (N, F); x, scratch:
  /// (N, C).
  virtual void norm_swiglu(Tensor& out, Tensor& scratch_up, Tensor& scratch, const Tensor& x, const NormRef& norm,
                           const GateUpWeights& w);
  /// x += y · weightᵀ.  x, scratch: (N, C); y: (N, K); weight: (C, K).
  virtual void add_linear(Tensor& x, Tensor& scratch, const Tensor& y, const Tensor& weight);

  /// Runs `step`, which is a decoding step of `model` with these rows, cache and logits, and launches work of this
  /// device alone. A device may remember what an earlier step with the same memory launched, and launch that instead.
  virtual void decode(const void* model, const Tensor& logits, const Rows& rows, const LayerCache& cache,
                      const std::function<void()>& step);
  /// token[n] = what sample(probabilities(row n of logits), draw[n]) of rungs/generate/sampler.hpp gives, or -1 where
  /// the row has a logit that is not finite; only the tokens leave the device.  token, draw: N on the host; logits: (N,
  /// V). Returns false, having done nothing, where that is left to the host.
  virtual bool sample(std::span<int32_t> token, const Tensor& logits, const SampleOptions& options,
                      std::span<const double> draw);

 protected:
  Ops& ops_;
};

}  // namespace rungs
