/// The seam in CUDA as fast as the ladders go: `--backend cuda`.
#pragma once

#include "kernels/backend/cuda_device.hpp"

namespace rungs {

/// The last rungs, and coarse operations fused. A decoding step is captured as a CUDA graph and replayed: what changes
/// from token to token is read from the device's memory.
class CudaOps : public CudaDevice {
 public:
  ~CudaOps() override;

  void embedding(Tensor& out, const Tensor& table, const Tensor& index) override;
  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override;
  void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) override;
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) override;
  void apply_rope(Tensor& x, const RopeTables& rotary, const Tensor& position) override;
  void relu(Tensor& x) override;
  void silu_mul(Tensor& gate, const Tensor& up) override;
  void add(Tensor& x, const Tensor& y) override;
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override;

  void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                 LayerCache* cache) override;
  void norm_qkv(Tensor& normed, Tensor& q, Tensor& k, Tensor& v, const Tensor& x, const QkvWeights& w,
                const RopeTables& rotary, const Rows& rows) override;
  void norm_gated(Tensor& normed, Tensor& hidden, Tensor& up, const Tensor& x, const GatedWeights& w) override;
  void self_attention(Tensor& out, const QkvScratch& scratch, const Tensor& x, const QkvWeights& w,
                      const RopeTables& rotary, const Rows& rows, LayerCache* cache) override;
  void add_linear(Tensor& x, Tensor& product, const Tensor& y, const Tensor& weight) override;

  void replay(const StepKey& key, const std::function<void()>& step) override;

 private:
  /// A step that was seen once, and from the second time on its graph.
  struct Step {
    StepKey key;
    cudaGraphExec_t graph;
  };
  void launch_choice(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V) override;
  bool project(const QkvScratch& s, const Tensor& x, const QkvWeights& w);
  void norm_product(Tensor& out, Tensor& normed, const Tensor& x, const Tensor& norm, float epsilon,
                    const Tensor& weight);
  void product(float* out, const Tensor& x, const Tensor& weight);
  void sdpa_cached(Tensor& out, const Tensor& q, const Rows& rows, const LayerCache& cache);
  void capture(Step& step, const std::function<void()>& launches);
  void forget_steps();

  Workspace parts_;       // (N, 2C) bf16: activations in two parts, for tensor cores
  Workspace together_;    // what one product of several projections gives
  Workspace split_keys_;  // of attention_04
  std::vector<Step> steps_;
  int64_t frees_ = 0;  // when the steps were captured
};

}  // namespace rungs
