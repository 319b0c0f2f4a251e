// Every operation of both CUDA implementations beside loops in double, at the tolerances of the CPU's own tests and
// what tensor cores add.
#include <cmath>

#include "ops_cases.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

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
