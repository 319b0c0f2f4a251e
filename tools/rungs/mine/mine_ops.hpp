/// Operations made of the learner's own operations, one line for each lesson that passed.
#pragma once

#include <map>

#include "rungs/ops/cpu_ops.hpp"

namespace rungs {

/// Each operation is the learner's where its lesson passed, and the library's otherwise. The steps are the plain ones,
/// which call these operations: a fused one of the CPU would pass the learner by.
class MineOps final : public Ops {
 public:
  operator Backend() { return {cpu_, *this, plain_}; }
  /// From now on a LLaMA, whose attention is lesson 10's, or the decoder of part I, whose attention is lesson 8's.
  void runs(bool llama) { llama_ = llama; }

  void copy(Tensor& out, const Tensor& x) override { cpu_.copy(out, x); }
  void embedding(Tensor& out, const Tensor& table, const Tensor& index) override;
  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override;
  void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) override;
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) override;
  void apply_rope(Tensor& x, const RopeTables& rope, const Tensor& position) override;
  void relu(Tensor& x) override;
  void silu_mul(Tensor& gate, const Tensor& up) override;
  void add(Tensor& x, const Tensor& y) override { cpu_.add(x, y); }
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) override;
  void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows, LayerCache* cache,
                 const AttentionOptions& options) override {
    attention_by_segment(*this, out, q, k, v, rows, cache, options);
  }

 private:
  const Tensor& wide(const Tensor& weight);
  CpuOps cpu_;
  Steps plain_{*this};
  bool llama_ = true;
  std::map<const void*, Tensor> wide_;  // weights of 16 bits, as the lessons read them
};

}  // namespace rungs
