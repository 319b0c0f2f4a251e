/// The seam with a stopwatch: every operation goes on to another implementation, and how long it took is kept.
#pragma once

#include <array>
#include <map>
#include <string_view>

#include "rungs/measure/measure.hpp"
#include "rungs/ops/ops.hpp"

namespace rungs {

/// Times the operations of other Ops.
class TimingOps final : public Ops {
 public:
  /// Of all calls of one operation.
  struct Sum {
    double seconds = 0;
    int64_t calls = 0;
  };

  enum Operation {
    linear_,
    norm_qkv_,
    norm_gated_,
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
      "linear", "norm_qkv",   "norm_gated", "attention", "sdpa", "layer_norm", "rms_norm", "apply_rope",
      "relu",   "silu_mul", "add",        "embedding",    "copy",   "upload",     "download"};
  using Sums = std::array<Sum, count_>;

  explicit TimingOps(Ops& inner) : inner_(inner) {}
  Sums sums{};
  std::map<std::pair<int64_t, int64_t>, double> products{};  ///< seconds in linear, by the weight's shape (K, C)

  Tensor allocate(const Shape& shape, DType dtype) override { return inner_.allocate(shape, dtype); }
  void upload(Tensor& device, const void* host) override {
    timed(upload_, [&] { inner_.upload(device, host); });
  }
  void download(void* host, const Tensor& device) override {
    timed(download_, [&] { inner_.download(host, device); });
  }
  void copy(Tensor& out, const Tensor& x) override {
    timed(copy_, [&] { inner_.copy(out, x); });
  }
  void embedding(Tensor& out, const Tensor& table, const Tensor& index) override {
    timed(embedding_, [&] { inner_.embedding(out, table, index); });
  }
  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override {
    const double before = sums[linear_].seconds;
    timed(linear_, [&] { inner_.linear(out, x, weight, bias); });
    products[{weight.dim(0), weight.dim(1)}] += sums[linear_].seconds - before;
  }
  void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) override {
    timed(layer_norm_, [&] { inner_.layer_norm(out, x, weight, bias, epsilon); });
  }
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) override {
    timed(rms_norm_, [&] { inner_.rms_norm(out, x, weight, epsilon); });
  }
  void apply_rope(Tensor& x, const RopeTables& rotary, const Tensor& position) override {
    timed(apply_rope_, [&] { inner_.apply_rope(x, rotary, position); });
  }
  void silu_mul(Tensor& gate, const Tensor& up) override {
    timed(silu_mul_, [&] { inner_.silu_mul(gate, up); });
  }
  void relu(Tensor& x) override {
    timed(relu_, [&] { inner_.relu(x); });
  }
  void add(Tensor& x, const Tensor& y) override {
    timed(add_, [&] { inner_.add(x, y); });
  }
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override {
    timed(sdpa_, [&] { inner_.sdpa(out, q, k, v); });
  }
  void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                 LayerCache* cache) override {
    timed(attention_, [&] { inner_.attention(out, q, k, v, rows, cache); });
  }
  void norm_qkv(Tensor& normed, Tensor& q, Tensor& k, Tensor& v, const Tensor& x, const QkvWeights& w,
                const RopeTables& rotary, const Rows& rows) override {
    timed(norm_qkv_, [&] { inner_.norm_qkv(normed, q, k, v, x, w, rotary, rows); });
  }
  void norm_gated(Tensor& normed, Tensor& hidden, Tensor& up, const Tensor& x, const GatedWeights& w) override {
    timed(norm_gated_, [&] { inner_.norm_gated(normed, hidden, up, x, w); });
  }

 private:
  template <class Work>
  void timed(Operation operation, const Work& work) {
    const double start = now();
    work();
    sums[operation].seconds += now() - start;
    ++sums[operation].calls;
  }

  Ops& inner_;
};

}  // namespace rungs
