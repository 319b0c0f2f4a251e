/// A backend with a stopwatch: every operation goes on to another one, and how long it took is kept.
#pragma once

#include <array>
#include <map>
#include <string_view>

#include "rungs/measure/measure.hpp"
#include "rungs/ops/backend.hpp"

namespace rungs {

/// Times the operations of another backend, and those of its steps that are one piece of work there.
class TimingOps final : public Device, public Ops, public Steps {
 public:
  /// Of all calls of one operation.
  struct Sum {
    double seconds = 0;
    int64_t calls = 0;
  };

  enum Operation {
    linear_,
    norm_qkv_,
    norm_swiglu_,
    attention_,
    sdpa_,
    layer_norm_,
    rms_norm_,
    apply_rope_,
    relu_,
    silu_mul_,
    add_,
    embedding_,
    copy_,
    upload_,
    download_,
    count_
  };
  static constexpr std::array<std::string_view, count_> names = {
      "linear", "norm_qkv", "norm_swiglu", "attention", "sdpa", "layer_norm", "rms_norm", "apply_rope",
      "relu",   "silu_mul", "add",         "embedding", "copy", "upload",     "download"};
  using Sums = std::array<Sum, count_>;

  explicit TimingOps(const Backend& inner) : Steps(static_cast<Ops&>(*this)), inner_(inner) {}
  operator Backend() { return {*this, *this, *this}; }
  Sums sums{};
  std::map<std::pair<int64_t, int64_t>, double> products{};  ///< seconds in linear, by the weight's shape (K, C)

  Tensor allocate(const Shape& shape, DType dtype) override { return inner_.device.allocate(shape, dtype); }
  void upload_weights(ConstTensor& weights) override { inner_.device.upload_weights(weights); }
  ConstTensor pack_weights(std::initializer_list<ConstTensor*> weights) override {
    return inner_.device.pack_weights(weights);
  }
  std::optional<int64_t> free_memory() override { return inner_.device.free_memory(); }
  void upload(Tensor& device, const void* host) override {
    timed(upload_, [&] { inner_.device.upload(device, host); });
  }
  void download(void* host, const Tensor& device) override {
    timed(download_, [&] { inner_.device.download(host, device); });
  }
  void copy(Tensor& out, const Tensor& x) override {
    timed(copy_, [&] { inner_.ops.copy(out, x); });
  }
  void embedding(Tensor& out, const Tensor& table, const Tensor& index) override {
    timed(embedding_, [&] { inner_.ops.embedding(out, table, index); });
  }
  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override {
    const double before = sums[linear_].seconds;
    timed(linear_, [&] { inner_.ops.linear(out, x, weight, bias); });
    products[{weight.dim(0), weight.dim(1)}] += sums[linear_].seconds - before;
  }
  void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) override {
    timed(layer_norm_, [&] { inner_.ops.layer_norm(out, x, weight, bias, epsilon); });
  }
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) override {
    timed(rms_norm_, [&] { inner_.ops.rms_norm(out, x, weight, epsilon); });
  }
  void apply_rope(Tensor& x, const RopeTables& rotary, const Tensor& position) override {
    timed(apply_rope_, [&] { inner_.ops.apply_rope(x, rotary, position); });
  }
  void silu_mul(Tensor& gate, const Tensor& up) override {
    timed(silu_mul_, [&] { inner_.ops.silu_mul(gate, up); });
  }
  void relu(Tensor& x) override {
    timed(relu_, [&] { inner_.ops.relu(x); });
  }
  void add(Tensor& x, const Tensor& y) override {
    timed(add_, [&] { inner_.ops.add(x, y); });
  }
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) override {
    timed(sdpa_, [&] { inner_.ops.sdpa(out, q, k, v, options); });
  }
  void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows, LayerCache* cache,
                 const AttentionOptions& options) override {
    timed(attention_, [&] { inner_.ops.attention(out, q, k, v, rows, cache, options); });
  }
  void norm_qkv(const Qkv& out, Tensor& scratch, const Tensor& x, const NormRef& norm, const QkvWeights& w,
                const RopeTables& rope, const Rows& rows) override {
    timed(norm_qkv_, [&] { inner_.steps.norm_qkv(out, scratch, x, norm, w, rope, rows); });
  }
  void norm_swiglu(Tensor& out, Tensor& scratch_up, Tensor& scratch, const Tensor& x, const NormRef& norm,
                   const GateUpWeights& w) override {
    timed(norm_swiglu_, [&] { inner_.steps.norm_swiglu(out, scratch_up, scratch, x, norm, w); });
  }

 private:
  template <class Work>
  void timed(Operation operation, const Work& work) {
    const double start = now();
    work();
    sums[operation].seconds += now() - start;
    ++sums[operation].calls;
  }

  Backend inner_;
};

}  // namespace rungs
