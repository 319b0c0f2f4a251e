/// The backend in CUDA as fast as the ladders go: `--backend cuda`.
#pragma once

#include "kernels/backend/cuda_device.hpp"
#include "kernels/rope/rope.hpp"

namespace rungs {

/// The last rungs, and the steps fused. A decoding step is captured as a CUDA graph and replayed: what changes
/// from token to token is read from the device's memory.
class CudaOps : public CudaDevice {
 public:
  ~CudaOps() override;

  void embedding(Tensor& out, const Tensor& table, const Tensor& index) override;
  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override;
  void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) override;
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) override;
  void relu(Tensor& x) override;
  void silu_mul(Tensor& gate, const Tensor& up) override;
  void add(Tensor& x, const Tensor& y) override;
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
            const AttentionOptions& options = {}) override;

  void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows, LayerCache* cache,
                 const AttentionOptions& options = {}) override;
  void norm_qkv(const Qkv& out, Tensor& scratch, const Tensor& x, const NormRef& norm, const QkvWeights& w,
                const RopeTables& rope, const Rows& rows) override;
  void self_attention(Tensor& out, const Qkv& scratch_qkv, Tensor& scratch, const Tensor& x, const NormRef& norm,
                      const QkvWeights& w, const RopeTables& rope, const Rows& rows, LayerCache* cache,
                      const AttentionOptions& options = {}) override;
  void norm_swiglu(Tensor& out, Tensor& scratch_up, Tensor& scratch, const Tensor& x, const NormRef& norm,
                   const GateUpWeights& w) override;
  void add_linear(Tensor& x, Tensor& scratch, const Tensor& y, const Tensor& weight) override;
  void decode(const void* model, const Tensor& logits, const Rows& rows, const LayerCache& cache,
              const std::function<void()>& step) override;

 private:
  /// A weight is read once for so many rows by the kernels of gemv; beyond, the tiles of matmul pay.
  static constexpr int gemv_max_rows = 8;

  /// Names a step: those of one key launch the same kernels on the same memory.
  struct Key {
    const void *model, *logits, *cache;
    int64_t rows, wanted;  // N, M
    bool operator==(const Key&) const = default;
  };
  /// A decoding step that was seen once, and from the second time on its graph.
  struct CapturedStep {
    Key key;
    cudaGraphExec_t graph;
  };
  void launch_choice(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V) override;
  bool project(const Qkv& out, const Tensor& x, const NormRef& norm, const QkvWeights& w);
  /// Of how many bf16 each element of the input is the sum, beside this weight on tensor cores; 0: without them.
  static int parts_beside(const Tensor& weight);
  void norm_product(Tensor& out, Tensor& normed, const Tensor& x, const NormRef& norm, const Tensor& weight);
  void product(float* out, const Tensor& x, const Tensor& weight);
  void matmul_in_parts(float* c, const bf16* a, const Tensor& b, int M, int parts);
  void attend(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
              bool rounded);
  void sdpa_cached(Tensor& out, const Tensor& q, const Rows& rows, LayerCache& cache, const AttentionOptions& options,
                   bool rounded);
  std::pair<Tensor, Tensor> keys_and_values(const Segment& s, const CacheRows& at, LayerCache& cache, int G, int D);
  void rotate_append_attend(Tensor& out, const Qkv& s, const RopeTables& rope, const Rows& rows, LayerCache& cache,
                            const AttentionOptions& options);
  void capture(CapturedStep& step, const std::function<void()>& launches);
  void forget_captured();

  Workspace parts_;       // (N, parts · C) bf16: activations in one part or two, for tensor cores
  Workspace packed_;      // what one product of packed projections gives
  Workspace split_keys_;  // of attention_04 and attention_06
  Workspace collected_;   // keys and values of a sequence whose cache is paged
  Workspace counters_;    // of attention_06
  std::vector<CapturedStep> captured_;
  int64_t frees_ = 0;  // when the steps were captured
};

}  // namespace rungs
