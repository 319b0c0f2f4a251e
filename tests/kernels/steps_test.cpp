// The steps of a layer on both CUDA implementations beside those of the CPU: products, norm, rotation and attention
// together, as a model asks for them.
#include <cmath>

#include "ops_cases.hpp"
#include "rungs/model/rope.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

static double largest(const Tensor& x) {
  double most = 0;
  for (int64_t i = 0; i < x.count(); ++i) most = std::max(most, std::fabs(x.value(i)));
  return most;
}

namespace {

/// The weights of one layer, of a size that keeps activations near one, all in one dtype.
struct Layer {
  int64_t C = 0, H = 0, G = 0, D = 0, F = 0;
  ConstTensor norm;
  QkvWeights qkv;
  GateUpWeights gate_up;
  RopeTables angles;

  Layer(int64_t c, int64_t h, int64_t g, int64_t d, int64_t f, DType dtype, int64_t context = 64)
      : C(c), H(h), G(g), D(d), F(f) {
    const auto make = [&](const Shape& shape, unsigned seed) {
      Tensor w = random_tensor(shape, seed);
      for (int64_t i = 0; i < w.count(); ++i) w.flat(i) *= shape.rank() == 1 ? 1.0f : 1.7f / std::sqrt(float(C));
      return converted(w, dtype);
    };
    norm = make({C}, 1), qkv.q = make({H * D, C}, 2), qkv.k = make({G * D, C}, 3), qkv.v = make({G * D, C}, 4);
    gate_up.gate = make({F, C}, 5), gate_up.up = make({F, C}, 6);
    angles = rope_table({}, D, context);
  }
  /// The same on a device: packed as a model packs them, or each by itself.
  void upload(Device& to, bool packed) {
    if (packed) {
      qkv.packed = to.pack_weights({&qkv.q, &qkv.k, &qkv.v});
      gate_up.packed = to.pack_weights({&gate_up.gate, &gate_up.up});
    } else {
      for (ConstTensor* w : {&qkv.q, &qkv.k, &qkv.v, &gate_up.gate, &gate_up.up}) to.upload_weights(*w);
    }
    for (ConstTensor* w : {&norm, &angles.cos, &angles.sin}) to.upload_weights(*w);
  }
};

/// What a layer's steps give on one device, copied to the host.
struct Results {
  Tensor normed, q, k, v, hidden, context, cached_k, cached_v;
};

Results run(const Backend& backend, const Layer& w, const Tensor& x_host, const Batch& batch, bool cached) {
  const int64_t N = batch.rows();
  Device& device = backend.device;
  Placed placed(device, w.G, w.D, 3, 20);
  const Rows& rows = placed.room.fill(device, batch, placed.config, cached ? &placed.cache : nullptr);
  const Tensor x = to(device, x_host);
  Tensor normed = device.allocate({N, w.C}), q = device.allocate({N, w.H, w.D}), k = device.allocate({N, w.G, w.D});
  Tensor v = device.allocate({N, w.G, w.D}), context = device.allocate({N, w.H, w.D});
  Tensor hidden = device.allocate({N, w.F}), up = device.allocate({N, w.F});
  backend.steps.norm_qkv({q, k, v}, normed, x, {w.norm, 1e-5f}, w.qkv, w.angles, rows);
  Results r{{}, from(device, q), from(device, k), from(device, v), {}, {}, {}, {}};
  backend.steps.norm_swiglu(hidden, up, normed, x, {w.norm, 1e-5f}, w.gate_up);
  r.hidden = from(device, hidden);
  LayerCache& cache = placed.cache.layers[0];
  backend.steps.self_attention(context, {q, k, v}, normed, x, {w.norm, 1e-5f}, w.qkv, w.angles, rows,
                               cached ? &cache : nullptr);
  r.context = from(device, context);
  r.cached_k = from(device, cache.k), r.cached_v = from(device, cache.v);
  backend.ops.rms_norm(normed, x, w.norm, 1e-5f);
  r.normed = from(device, normed);
  return r;
}

}  // namespace

// Both devices may be off by the tolerance of the product, and what norm and rotation add is less than another. An
// error of q or k moves the scores, and each weight by as much.
static void check_layer(CudaDevice& ops, const Layer& host, Layer& device, const Batch& batch, bool cached) {
  const ExactProducts exact;
  CpuOps cpu;
  const Tensor x = random_tensor({batch.rows(), host.C}, 9);
  const Results want = run(cpu, host, x, batch, cached), got = run(ops, device, x, batch, cached);
  const auto tolerance_of = [&](const Tensor& weight) {
    const Expected e = linear_on_device(ops, want.normed, weight, {});
    return 3 * *std::max_element(e.tolerance.begin(), e.tolerance.end());
  };
  const double q = tolerance_of(host.qkv.q), k = tolerance_of(host.qkv.k), v = tolerance_of(host.qkv.v);
  CHECK(passes(compare(got.q, want.q, {.absolute = 2 * q})));
  CHECK(passes(compare(got.k, want.k, {.absolute = 2 * k})));
  CHECK(passes(compare(got.v, want.v, {.absolute = v})));
  const double most = std::max(largest(want.normed), largest(want.hidden)) * 4;  // of a product that gate or up is
  CHECK(passes(compare(got.hidden, want.hidden,
                       {.absolute = most * (tolerance_of(host.gate_up.gate) + tolerance_of(host.gate_up.up))})));
  const double score = std::sqrt(double(host.D)) * 2 * (largest(want.q) * k + largest(want.k) * q);
  const double size = std::max(1.0, largest(want.q) * largest(want.k));
  const double context = 2 * largest(want.v) * (score + size * attention_tolerance(double(host.D), 20)) + v;
  CHECK(passes(compare(got.context, want.context, {.absolute = context})));
  CHECK(passes(compare(got.cached_k, want.cached_k, {.absolute = 2 * k})));
  CHECK(passes(compare(got.cached_v, want.cached_v, {.absolute = v})));
}

TEST_CASE("the steps on the device give what the CPU gives, for few rows and many and each dtype") {
  on_both([](CudaDevice& ops) {
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const bool packed : {true, false})
        for (const Batch& batch : batches()) {
          CAPTURE(name_of(dtype));
          CAPTURE(packed);
          CAPTURE(batch.rows());
          const bool wide = batch.rows() > 10 &&
                            dtype == DType::bf16;  // enough for tensor cores, where the optimized backend takes them
          const Layer host(wide ? 1032 : 50, 6, 2, 14, 37, dtype);
          Layer device(host.C, 6, 2, 14, 37, dtype);
          device.upload(ops, packed);
          check_layer(ops, host, device, batch, true);
        }
  });
}

// 300 queries are enough for attention_05. Elements of 1 and -1, under a norm that changes none by more than its rsqrt
// is off, are as good as bf16: q, k and v are the same in both ways to 2⁻²⁰, and only attention rounds. That changes
// some 2⁻⁹ of each number that it meets, where a wrong key, scale or head changes all.
TEST_CASE(
    "beside wide weights in bf16 a long prompt attends with rounded numbers, and exactly where that is asked for") {
  Batch batch;
  batch.add(0, std::vector<int32_t>(300, 1), 0, false);
  Layer device(1024, 4, 2, 32, 16, DType::bf16, 300);
  CudaDevice& ops = cuda_ops();
  device.upload(ops, true);
  Tensor x = random_tensor({300, 1024}, 9), queries[2];
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = x.flat(i) < 0 ? -1.0f : 1.0f;
  const auto context = [&](Tensor& rotated) {
    Placed placed(ops, 2, 32, 1, 300, 300);
    const Rows& rows = placed.room.fill(ops, batch, placed.config, &placed.cache);
    Tensor normed = ops.allocate({300, 1024}), q = ops.allocate({300, 4, 32}), k = ops.allocate({300, 2, 32});
    Tensor v = ops.allocate({300, 2, 32}), out = ops.allocate({300, 4, 32});
    ops.self_attention(out, {q, k, v}, normed, to(ops, x), {device.norm, 0.0f}, device.qkv, device.angles, rows,
                       &placed.cache.layers[0]);
    rotated = from(ops, q);
    return from(ops, out);
  };
  const Tensor rounded = context(queries[0]);
  const ExactProducts asked_for;
  const Tensor exact = context(queries[1]);
  const auto apart = [](const Tensor& x, const Tensor& y) {
    double most = 0;
    for (int64_t i = 0; i < x.count(); ++i) most = std::max(most, std::abs(double(x.flat(i)) - y.flat(i)));
    return most / largest(y);
  };
  CHECK(apart(queries[0], queries[1]) < 0x1p-20);
  CHECK(apart(rounded, exact) > 0x1p-14);
  CHECK(apart(rounded, exact) < 0x1p-6);
}

TEST_CASE("without a cache the device attends within the call") {
  Batch batch;
  batch.add(0, std::vector<int32_t>(5, 1), 0, false);
  batch.add(1, std::vector<int32_t>(9, 1), 0, false);
  on_both([&](CudaDevice& ops) {
    const Layer host(50, 6, 2, 14, 37, DType::f32);
    Layer device(50, 6, 2, 14, 37, DType::f32);
    device.upload(ops, true);
    check_layer(ops, host, device, batch, false);
  });
}

TEST_CASE("weights of two dtypes in one layer and those in half precision go through the plain steps") {
  on_both([](CudaDevice& ops) {
    for (const Batch& batch : batches()) {
      Layer host(50, 6, 2, 14, 37, DType::bf16), device(50, 6, 2, 14, 37, DType::bf16);
      for (Layer* layer : {&host, &device}) {
        layer->norm = converted(layer->norm, DType::f32);
        layer->qkv.k = converted(layer->qkv.k, DType::f32);
        layer->gate_up.up = converted(layer->gate_up.up, DType::f32);
      }
      device.upload(ops, true);
      check_layer(ops, host, device, batch, true);
    }
  });
}

TEST_SUITE_END();
