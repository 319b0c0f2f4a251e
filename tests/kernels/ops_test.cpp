// Every operation of both CUDA implementations beside loops in double, at the tolerances of the CPU's own tests and
// what tensor cores add.
#include <cmath>

#include "devices.hpp"
#include "ops/expected.hpp"
#include "product.hpp"
#include "rungs/model/rope.hpp"
#include "rungs/model/rows.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/processor.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

/// While it lives, nothing is rounded to bf16 beside bf16 weights.
struct ExactProducts {
  ExactProducts() { use_exact_products(); }
  ~ExactProducts() { use_exact_products(false); }
};

/// linear_in_double, and what tensor cores add to the tolerance where CudaOps multiplies on them: more than 8 rows of
/// x, and long rows of a weight in bf16. There x is rounded to bf16, or with exact products in two parts.
static Expected linear_on_device(CudaDevice& ops, const Tensor& x_given, const Tensor& weight, const Tensor& bias) {
  const auto N = int(x_given.rows()), K = int(weight.rows()), C = int(x_given.cols());
  const bool optimized = dynamic_cast<CudaOps*>(&ops), exact = exact_products();
  if (!optimized || weight.dtype() != DType::bf16 || C < (exact ? 1024 : 768) || N <= 8)
    return linear_in_double(x_given, weight, bias);
  const Tensor x = exact ? x_given.copy() : in_16_bits(x_given, DType::bf16);
  Expected e = linear_in_double(x, weight, bias);
  const Product plain = product(values(x), values(weight), N, K, C), cut = on_tensor_cores(plain, exact ? 2 * C : C);
  for (size_t i = 0; i < e.tolerance.size(); ++i) e.tolerance[i] += cut.tolerance[i] - plain.tolerance[i];
  return e;
}

TEST_CASE("linear on the device equals loops in double for weights of each dtype") {
  on_both([](CudaDevice& ops) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
      for (const int64_t N : {1, 3, 8, 9, 40})
        for (const auto& [C, K] :
             {std::pair<int64_t, int64_t>{1, 1}, {33, 5}, {31, 33}, {96, 64}, {800, 9}, {1032, 20}}) {
          const bool with_bias = (N + C) % 2 == 0;
          CAPTURE(name_of(dtype));
          CAPTURE(N);
          CAPTURE(C);
          CAPTURE(K);
          const Tensor x = random_tensor({N, C}, 1), bias = random_tensor({K}, 3);
          const Tensor weight =
              dtype == DType::f32 ? random_tensor({K, C}, 2) : in_16_bits(random_tensor({K, C}, 2), dtype);
          Tensor out = ops.allocate({N, K});
          if (C == 1032) {  // in two parts
            const ExactProducts exact;
            ops.linear(out, to(ops, x), to(ops, weight), {});
            const Expected e = linear_on_device(ops, x, weight, {});
            CHECK(difference(from(ops, out), e.value, e.tolerance) == "");
          }
          ops.linear(out, to(ops, x), to(ops, weight), with_bias ? to(ops, bias) : Tensor());
          const Expected e = linear_on_device(ops, x, weight, with_bias ? bias.view() : ConstTensor());
          CHECK(difference(from(ops, out), e.value, e.tolerance) == "");

          Tensor sum = to(ops, random_tensor({N, K}, 4)), product = ops.allocate({N, K});
          const Tensor before = from(ops, sum);
          ops.add_linear(sum, product, to(ops, x), to(ops, weight));
          Expected added = linear_on_device(ops, x, weight, {});
          for (int64_t i = 0; i < before.count(); ++i) {
            added.value[size_t(i)] += before.value(i);
            added.tolerance[size_t(i)] += u * (std::fabs(added.value[size_t(i)]) + std::fabs(before.value(i)));
          }
          CHECK(difference(from(ops, sum), added.value, added.tolerance) == "");
        }
  });
}

TEST_CASE("norms on the device equal loops in double") {
  on_both([](CudaDevice& ops) {
    for (const auto& [N, C] : {std::pair<int64_t, int64_t>{1, 1}, {1, 96}, {2, 31}, {33, 33}, {5, 1030}}) {
      CAPTURE(N);
      CAPTURE(C);
      const Tensor x = random_tensor({N, C}, 1), weight = random_tensor({C}, 2), bias = random_tensor({C}, 3);
      Tensor out = ops.allocate({N, C});
      ops.layer_norm(out, to(ops, x), to(ops, weight), to(ops, bias), 1e-5f);
      Expected e = layer_norm_in_double(x, weight, bias, 1e-5f);
      CHECK(difference(from(ops, out), e.value, e.tolerance) == "");
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        CAPTURE(name_of(dtype));
        const Tensor w = dtype == DType::f32 ? weight.copy() : in_16_bits(weight, dtype);
        ops.rms_norm(out, to(ops, x), to(ops, w), 1e-5f);
        e = rms_norm_in_double(x, w, 1e-5f);
        CHECK(difference(from(ops, out), e.value, e.tolerance) == "");
      }
    }
  });
}

TEST_CASE("copies and rows and sums on the device are exact") {
  on_both([](CudaDevice& ops) {
    for (const auto& [N, C] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {33, 31}, {40, 64}}) {
      CAPTURE(N);
      CAPTURE(C);
      const Tensor x = random_tensor({N, C}, 1), y = random_tensor({N, C}, 2);
      Tensor sum = to(ops, x), copy = ops.allocate({N, C}), positive = to(ops, x);
      ops.add(sum, to(ops, y));
      ops.copy(copy, to(ops, y));
      ops.relu(positive);
      const Tensor got = from(ops, sum), kept = from(ops, positive);
      for (int64_t i = 0; i < x.count(); ++i) {
        CHECK(got.flat(i) == x.flat(i) + y.flat(i));
        CHECK(kept.flat(i) == std::max(x.flat(i), 0.0f));
      }
      CHECK(values(from(ops, copy)) == values(y));

      std::vector<int32_t> index;
      for (int32_t n = 0; n < 7; ++n) index.push_back(int32_t((n * 5 + 2) % N));
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        const Tensor table = dtype == DType::f32 ? y.copy() : in_16_bits(y, dtype);
        Tensor rows = ops.allocate({7, C});
        ops.embedding(rows, to(ops, table), to(ops, integers(index)));
        const Tensor taken = from(ops, rows);
        for (int64_t n = 0; n < 7; ++n)
          for (int64_t c = 0; c < C; ++c) CHECK(taken(n, c) == table.value(index[size_t(n)] * C + c));
      }
    }
  });
}

TEST_CASE("rotation and gate on the device are within a few roundings of the CPU") {
  CpuOps cpu;
  on_both([&](CudaDevice& ops) {
    for (const auto& [N, H, D] : {std::array<int64_t, 3>{1, 1, 2}, {3, 2, 6}, {9, 5, 64}, {33, 3, 34}}) {
      CAPTURE(N);
      CAPTURE(D);
      const Tensor x = random_tensor({N, H, D}, 1), y = random_tensor({N, H, D}, 2);
      const RopeTables angles{random_tensor({50, D / 2}, 3), random_tensor({50, D / 2}, 4)};
      std::vector<int32_t> position;
      for (int32_t n = 0; n < N; ++n) position.push_back(n * 7 % 50);
      Tensor want = x.copy(), got = to(ops, x);
      cpu.apply_rope(want, angles, integers(position));
      ops.apply_rope(got, {to(ops, angles.cos), to(ops, angles.sin)}, to(ops, integers(position)));
      CHECK(passes(compare(from(ops, got), want, {.absolute = 4 * u * 2})));  // sums of two products below 1

      Tensor gate = x.copy(), gated = to(ops, x);
      cpu.silu_mul(gate, y);
      ops.silu_mul(gated, to(ops, y));
      CHECK(passes(compare(from(ops, gated), gate, {.absolute = 8 * u})));  // |silu(x) · y| < 1 here
    }
  });
}

TEST_CASE("sdpa on the device equals loops in double, heads in groups, with a past and without") {
  on_both([](CudaDevice& ops) {
    for (const auto& [T, S] : {std::pair<int64_t, int64_t>{1, 1}, {1, 34}, {3, 7}, {33, 35}, {257, 260}})
      for (const auto& [H, G] : {std::pair<int64_t, int64_t>{1, 1}, {6, 2}, {5, 1}})
        for (const int64_t D : {1, 7, 64}) {
          if (T > 256 && (H != 1 || D != 7)) continue;  // loops in double take long
          CAPTURE(T);
          CAPTURE(S);
          CAPTURE(H);
          CAPTURE(G);
          CAPTURE(D);
          const Tensor q = random_tensor({T, H, D}, 1), k = random_tensor({S, G, D}, 2),
                       v = random_tensor({S, G, D}, 3);
          Tensor out = ops.allocate({T, H, D});
          ops.sdpa(out, to(ops, q), to(ops, k), to(ops, v));
          const Tensor got = from(ops, out);
          for (int64_t h = 0; h < H; ++h) {
            const int64_t g = h / (H / G);
            const Expected e = attend_in_double(head_of(q, h), head_of(k, g), head_of(v, g));
            CHECK(difference(head_of(got, h), e.value, e.tolerance) == "");
          }
        }
  });
}

/// How far two implementations of attention may be from each other where no element of q, k and v is above 1: both are
/// off by what attend_in_double allows.
static double attention_tolerance(double D, double S) {
  const double score_error = sum_error(D, 1) + 3 * u * std::sqrt(D), spread = 2 * std::sqrt(D);
  return 2 * (2 * (score_error + exp_error(spread)) + (8 * std::sqrt(S) + 4) * u + sum_error(S, 1));
}

static double largest(const Tensor& x) {
  double most = 0;
  for (int64_t i = 0; i < x.count(); ++i) most = std::max(most, std::fabs(x.value(i)));
  return most;
}

/// Rows on a device as a model brings them there.
struct Placed {
  Config config;
  KvCache cache;
  RowsOnDevice room;
  Placed(Device& ops, int64_t G, int64_t D, int64_t sequences, int64_t capacity, int64_t rows = 64) : room(ops, rows) {
    config.model_type = "llama";
    config.max_seq_len = std::max<int64_t>(64, capacity), config.num_kv_heads = G, config.head_dim = D,
    config.num_layers = 1, config.vocab_size = 9;
    cache = KvCache(ops, config, sequences, capacity);
    Tensor dirt = random_tensor(cache.layers[0].k.shape(), 77);
    ops.upload(cache.layers[0].k, dirt.raw());
    ops.upload(cache.layers[0].v, dirt.raw());
  }
};

/// One row each, a prompt after a past, several of both, and a sequence that comes twice.
static std::vector<Batch> batches() {
  const auto of = [](const std::vector<std::pair<int32_t, std::pair<int64_t, int64_t>>>& runs) {
    Batch batch;
    for (const auto& [sequence, run] : runs)
      batch.add(sequence, std::vector<int32_t>(size_t(run.second), 1), run.first, false);
    return batch;
  };
  return {of({{0, {11, 1}}}), of({{2, {5, 1}}, {0, {0, 1}}, {1, {19, 1}}}), of({{2, {3, 6}}}),
          of({{1, {0, 12}}, {0, {7, 1}}, {2, {2, 3}}}), of({{1, {6, 1}}, {1, {8, 1}}, {0, {4, 1}}})};
}

TEST_CASE("attention on the device serves rows of several sequences as the CPU does, and writes the same cache") {
  CpuOps cpu;
  on_both([&](CudaDevice& ops) {
    for (const Batch& batch : batches())
      for (const auto& [H, G, D] : {std::array<int64_t, 3>{1, 1, 7}, {6, 2, 16}, {4, 4, 9}}) {
        CAPTURE(batch.rows());
        CAPTURE(H);
        CAPTURE(D);
        const int64_t N = batch.rows();
        const Tensor q = random_tensor({N, H, D}, 1), k = random_tensor({N, G, D}, 2), v = random_tensor({N, G, D}, 3);
        Placed a(cpu, G, D, 3, 20), b(ops, G, D, 3, 20);
        Tensor want({N, H, D}), got = ops.allocate({N, H, D});
        cpu.attention(want, q, k, v, a.room.fill(cpu, batch, a.config, &a.cache), &a.cache.layers[0]);
        ops.attention(got, to(ops, q), to(ops, k), to(ops, v), b.room.fill(ops, batch, b.config, &b.cache),
                      &b.cache.layers[0]);
        CHECK(passes(compare(from(ops, got), want, {.absolute = attention_tolerance(double(D), 20)})));
        CHECK(values(from(ops, b.cache.layers[0].k)) == values(a.cache.layers[0].k));
        CHECK(values(from(ops, b.cache.layers[0].v)) == values(a.cache.layers[0].v));
      }
  });
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

TEST_CASE("operations of the device on no rows do nothing") {
  on_both([](CudaDevice& ops) {
    const Tensor x = ops.allocate({0, 4}), weight = to(ops, random_tensor({3, 4}, 1)),
                 bias = to(ops, random_tensor({3}, 2));
    const Tensor norm = to(ops, random_tensor({4}, 3)), index = ops.allocate({0}, DType::i32);
    Tensor out = ops.allocate({0, 3}), normed = ops.allocate({0, 4}), heads = ops.allocate({0, 1, 4});
    ops.linear(out, x, weight, bias);
    ops.layer_norm(normed, x, norm, norm, 1e-5f);
    ops.rms_norm(normed, x, norm, 1e-5f);
    ops.relu(normed);
    ops.add(normed, x);
    ops.copy(normed, x);
    ops.embedding(normed, weight, index);
    ops.sdpa(heads, heads, heads, heads);
    ops.sample({}, out, {}, {});
  });
}

TEST_CASE("shapes and dtypes and head widths that the device does not take are refused in one sentence") {
  on_both([](CudaDevice& ops) {
    const auto make = [&](std::initializer_list<int64_t> dims) { return ops.allocate(Shape(dims)); };
    Tensor out = make({2, 3}), same = make({2, 4}), wide = make({2, 1, 257});
    const Tensor x = make({2, 4}), w = make({3, 4});
    CHECK_THROWS_WITH_AS(ops.linear(out, x, make({4, 3}), {}),
                         "linear(out, x, weight, bias): these shapes do not fit together: (2, 3), (2, 4), (4, 3), (0,)",
                         ShapeError);
    CHECK_THROWS_AS(ops.linear(same, x, w, {}), ShapeError);
    CHECK_THROWS_WITH_AS(ops.linear(out, x, ops.allocate({3, 4}, DType::f64), {}),
                         "wanted weights in f32, bf16 or f16, found f64", ShapeError);
    CHECK_THROWS_WITH_AS(ops.linear(out, make({2, 32}), ops.allocate({3, 32}, DType::q8_0), {}),
                         "wanted weights in f32, bf16 or f16, found q8_0, which the CPU alone computes with",
                         ShapeError);
    CHECK_THROWS_AS(ops.add(same, make({1, 4})), ShapeError);
    CHECK_THROWS_WITH_AS(ops.add(same, Tensor({2, 4})),
                         "add(x, y): works in the memory of the GPU; these tensors lie in that of the GPU, the CPU",
                         ShapeError);
    CHECK_THROWS_AS(ops.copy(same, out), ShapeError);
    CHECK_THROWS_AS(ops.embedding(same, x, ops.allocate({2}, DType::i64)), ShapeError);
    Tensor heads = make({2, 1, 4});
    CHECK_THROWS_AS(ops.sdpa(heads, heads, make({1, 1, 4}), make({1, 1, 4})), ShapeError);  // T > S
    CHECK_THROWS_AS(ops.sdpa(same, x, x, x), ShapeError);                                   // no heads
    CHECK_THROWS_WITH_AS(ops.sdpa(heads, heads, heads, heads, {.window = 8}),
                         "attention: the CUDA kernels take the causal mask and the scale 1/√D alone; --backend cpu "
                         "takes windows, soft caps and other scales too",
                         UsageError);
    CHECK_THROWS_WITH_AS(ops.sdpa(wide, wide, wide, wide),
                         "attention: the CUDA kernels take heads of 1 to 256 elements, this one has 257; "
                         "--backend cpu takes any",
                         UsageError);
    CHECK_THROWS_WITH_AS(ops.allocate({1 << 30, 1 << 20}), Contains("the device has no room for 4503599.627 GB: "),
                         Error);
  });
}

TEST_SUITE_END();
