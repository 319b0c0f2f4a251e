/// What came out of one run of a case.
#pragma once

#include <string>
#include <vector>

#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// One tensor that a run produced. A name that comes again continues where the last one of that name ended.
struct Recorded {
  std::string name;
  ConstTensor value;
  bool is_output = false;
};

/// Outputs, taps and work of one run. In the runner process each piece is sent off at once, so that a crash loses
/// nothing.
struct Recording {
  std::vector<Recorded> pieces;
  int64_t linear_rows = 0;  ///< rows that went through CountingOps::linear
  int fd = -1;              ///< where to send pieces, or -1
  bool keeps = false;       ///< pieces that are sent, too

  void output(const std::string& name, const Tensor& value) { add(name, value, true); }
  void add(const std::string& name, const Tensor& value, bool is_output);
};

/// The operations as the code under grade gets them: the library's, counted.
class CountingOps final : public Ops {
 public:
  explicit CountingOps(Recording& recording) : recording_(recording) {}

  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override {
    recording_.linear_rows += x.rows();
    cpu_.linear(out, x, weight, bias);
  }
  void copy(Tensor& out, const Tensor& x) override { cpu_.copy(out, x); }
  void embedding(Tensor& out, const Tensor& table, const Tensor& index) override { cpu_.embedding(out, table, index); }
  void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) override {
    cpu_.layer_norm(out, x, weight, bias, epsilon);
  }
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) override {
    cpu_.rms_norm(out, x, weight, epsilon);
  }
  void apply_rope(Tensor& x, const RopeTables& rope, const Tensor& position) override {
    cpu_.apply_rope(x, rope, position);
  }
  void relu(Tensor& x) override { cpu_.relu(x); }
  void silu_mul(Tensor& gate, const Tensor& up) override { cpu_.silu_mul(gate, up); }
  void add(Tensor& x, const Tensor& y) override { cpu_.add(x, y); }
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) override {
    cpu_.sdpa(out, q, k, v, options);
  }
  void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows, LayerCache* cache,
                 const AttentionOptions& options) override {
    cpu_.attention(out, q, k, v, rows, cache, options);
  }

 private:
  Recording& recording_;
  CpuOps cpu_;
};

}  // namespace rungs
