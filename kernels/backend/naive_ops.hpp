/// The backend in CUDA as simply as it can be: `--backend cuda-naive`.
#pragma once

#include "kernels/backend/cuda_device.hpp"

namespace rungs {

/// Every operation by the first rung of its ladder; the steps are the plain ones, which call the operations.
class NaiveCudaOps : public CudaDevice {
 public:
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

 private:
  void launch_choice(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V) override;
  Workspace scores_;  // (H, T, S)
};

}  // namespace rungs
