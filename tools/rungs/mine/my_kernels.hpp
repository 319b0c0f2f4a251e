/// CUDA operations made of the learner's own kernels, of the lessons of part III that passed.
#pragma once

#include <map>

#include "kernels/backend/naive_ops.hpp"

namespace rungs {

/// Each operation runs the learner's kernel where its lesson passed, and the first rung of the project's otherwise. The
/// steps are the plain ones, which call these operations.
class MyKernels final : public NaiveCudaOps {
 public:
  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override;
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) override;
  void add(Tensor& x, const Tensor& y) override;
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
            const AttentionOptions& options = {}) override;
  void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows, LayerCache* cache,
                 const AttentionOptions& options = {}) override;
  /// What all of them run on, in order.
  cudaStream_t stream() const { return stream_; }

 private:
  float* transposed(const Tensor& weight);
  void product(float* out, const Tensor& x, const Tensor& weight);
  void sum(float* out, const float* x, const float* y, int n);

  std::map<const void*, Tensor> transposed_;
  Workspace parts_;     // (2N, C) bf16: of each row of x what bf16 holds of it, and what that leaves
  Workspace products_;  // (2N, K) of them
  Workspace partial_;   // of attention_split
};

}  // namespace rungs
