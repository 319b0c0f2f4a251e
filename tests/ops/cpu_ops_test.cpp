#include "rungs/ops/cpu_ops.hpp"

#include <omp.h>

#include "ops/expected.hpp"
#include "rungs/ops/cpu_workspace.hpp"
#include "rungs/ops/dot.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/ops/processor.hpp"
#include "rungs/ops/tile_product.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("ops");

/// Whether N rows of x (C wide) are rounded to bf16 beside this weight.
static bool rounds_x(int64_t N, int64_t C, DType weight) {
  const bool in_bf16 = takes_bf16_dots(weight, C) || (weight == DType::bf16 && takes_tiles(N, C, weight));
  return in_bf16 && N > rows_in_two_parts;
}

TEST_CASE("linear equals loops in double at every size") {
  CpuOps ops;
  for (const int64_t N : {1, 2, 3, 4, 5, 31, 33, 128})
    for (const auto& [C, K] :
         {std::pair<int64_t, int64_t>{1, 1}, {1, 33}, {33, 1}, {31, 33}, {96, 320}, {257, 64}, {2100, 7}})
      for (const bool with_bias : {true, false}) {
        CAPTURE(N);
        CAPTURE(C);
        CAPTURE(K);
        CAPTURE(with_bias);
        const Tensor x = random_tensor({N, C}, 1), weight = random_tensor({K, C}, 2);
        const Tensor bias = with_bias ? random_tensor({K}, 3) : Tensor();
        Tensor out({N, K});
        ops.linear(out, x, weight, bias);
        const Expected e = linear_in_double(x, weight, bias);
        CHECK(difference(out, e.value, e.tolerance) == "");
      }
}

TEST_CASE("a weight in 16 bits gives the product of the numbers that it stands for") {
  CpuOps ops;
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const int64_t N : {1, 2, 3, 4, 5, 7, 8, 12, 13, 40, 65, 77})
      for (const auto& [C, K] : {std::pair<int64_t, int64_t>{1, 1},
                                 {7, 33},
                                 {31, 5},
                                 {32, 64},
                                 {768, 66},
                                 {257, 66},
                                 {1031, 37},
                                 {2112, 37}}) {
        CAPTURE(name_of(dtype));
        CAPTURE(N);
        CAPTURE(C);
        CAPTURE(K);
        const Tensor x = random_tensor({N, C}, 1), weight = in_16_bits(random_tensor({K, C}, 2), dtype);
        Tensor out({N, K});
        ops.linear(out, x, weight, {});
        const bool rounds = rounds_x(N, C, dtype);
        const Expected e = linear_in_double(rounds ? in_16_bits(x, DType::bf16) : x.copy(), weight, {});
        CHECK(difference(out, e.value, e.tolerance) == "");
      }
}

TEST_CASE("an infinity or no number in a weight of 16 bits is none in the product, on every vector target") {
  CpuOps ops;
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const float bad : {INFINITY, -INFINITY, NAN})
      for (const int64_t N : {1, 2, 40}) {
        CAPTURE(name_of(dtype));
        CAPTURE(N);
        Tensor x({N, 40}), w({3, 40}), out({N, 3});
        std::fill_n(x.data<float>(), x.count(), 1.0f), std::fill_n(w.data<float>(), w.count(), 0.0f);
        w(1, 33) = bad;
        ops.linear(out, x, converted(w, dtype), {});
        CHECK(out(N - 1, 0) == 0);
        CHECK((std::isnan(bad) ? std::isnan(out(N - 1, 1)) : out(N - 1, 1) == bad));
      }
}

TEST_CASE("linear gives the product at every length and every alignment of the weight") {
  CpuOps ops;
  const int64_t K = 5;
  std::vector<int64_t> lengths{768, 832, 896};
  for (int64_t C = 1; C <= 300; ++C) lengths.push_back(C);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::q8_0, DType::q4_0})
    for (const int64_t C : lengths) {
      if (C % elements_of_block(dtype) != 0) continue;
      const Tensor weight = random_weight({K, C}, 2, dtype);
      std::vector<uint8_t> memory(weight.bytes() + 64);
      const int64_t step = int64_t(is_quantized(dtype) ? sizeof(f16) : bytes_of(dtype));  // as files align it, at least
      auto* at = memory.data() + C * step % 64;
      std::memcpy(at, weight.raw(), weight.bytes());
      const ConstTensor moved = Tensor::view_of(static_cast<const void*>(at), {K, C}, dtype);
      for (const int64_t N : {1, 6, 34}) {
        CAPTURE(name_of(dtype));
        CAPTURE(C);
        CAPTURE(N);
        const Tensor x = random_tensor({N, C}, 1);
        Tensor out({N, K}), same({N, K});
        ops.linear(out, x, moved, {});
        ops.linear(same, x, weight, {});
        CHECK(values(out) == values(same));
        if (is_quantized(dtype)) continue;  // tests/ops/quantized_product_test.cpp knows what it is
        const bool rounds = rounds_x(N, C, dtype);
        const Expected e = linear_in_double(rounds ? in_16_bits(x, DType::bf16) : x.copy(), weight, {});
        CHECK(difference(out, e.value, e.tolerance) == "");
      }
    }
}

TEST_CASE("one row times bf16 is the same wherever the weight lies in a line of the cache") {
  const int64_t K = 70;
  for (const int64_t C : {832, 2112}) {  // whose weights a core's own caches hold, or so long that it does not matter
    const Tensor weight = in_16_bits(random_tensor({K, C}, 2), DType::bf16), x = random_tensor({1, C}, 1);
    Tensor out({1, K}), same({1, K});
    CpuOps().linear(same, x, weight, {});
    for (size_t at = 0; at < 64; at += sizeof(bf16)) {
      CAPTURE(C);
      CAPTURE(at);
      std::vector<uint8_t> memory(at + weight.bytes());
      std::memcpy(memory.data() + at, weight.raw(), weight.bytes());
      CpuOps().linear(out, x, Tensor::view_of(static_cast<const void*>(memory.data() + at), {K, C}, DType::bf16), {});
      CHECK(values(out) == values(same));
    }
  }
}

#if defined(__x86_64__)
TEST_CASE("dots of bf16 are taken where they pay, and where vectors that have them are asked for by name") {
  const char* asked_for = std::getenv("RUNGS_VECTOR_TARGET");
  const std::string name = asked_for ? asked_for : "";
  const bool by_name = name == "AVX3_DL" || name == "AVX3_ZEN4" || name == "AVX3_SPR" || name == "AVX10_2";
  const bool pay = name.empty() && !is_intel();
  CHECK(uses_bf16_dot() == (__builtin_cpu_supports("avx512bf16") && (pay || by_name)));
}
#endif

TEST_CASE("vectors that are asked for by name are those that are used, dots of bytes beside AVX2 among them") {
  const char* asked_for = std::getenv("RUNGS_VECTOR_TARGET");
  bool vnni_runs = false;
  for (const VectorTarget& t : vector_targets()) {
    CAPTURE(t.name);
    if (asked_for) CHECK(t.used == (t.name == asked_for));
    vnni_runs = vnni_runs || (t.name == "AVX2_VNNI" && t.runs_here);
  }
  CHECK(uses_avx_vnni() == (asked_for ? std::string(asked_for) == "AVX2_VNNI" : vnni_runs));
}

TEST_CASE("dots of bf16: exact products do without, and what is no number stays none") {
  if (!uses_bf16_dot() && !uses_tiles()) {
    MESSAGE("SKIPPED: the vector target has no dot product of bf16, or it would not pay");
    return;
  }
  const int64_t C = 832, K = 40;
  const Tensor weight = in_16_bits(random_tensor({K, C}, 1), DType::bf16);
  for (const int64_t N : {2, 20, 60}) {
    CAPTURE(N);
    Tensor x = random_tensor({N, C}, 2), out({N, K}), exact({N, K});
    CpuOps().linear(out, x, weight, {});
    use_exact_products();
    CHECK(linear_workspace(N, C, DType::bf16) == N * C * 4);
    CpuOps().linear(exact, x, weight, {});
    use_exact_products(false);
    const Expected e = linear_in_double(x, weight, {});
    CHECK(difference(exact, e.value, e.tolerance) == "");
    CHECK((difference(out, e.value, e.tolerance) == "") == (N <= rows_in_two_parts));

    const float infinity = std::numeric_limits<float>::infinity();
    x(0, 7) = infinity, x(1, 8) = std::numeric_limits<float>::quiet_NaN();
    CpuOps().linear(out, x, weight, {});
    for (int64_t k = 0; k < K; ++k) {
      CHECK(out(0, k) == (weight.value(k * C + 7) > 0 ? infinity : -infinity));
      CHECK(std::isnan(out(1, k)));
    }
  }
}

// So that neither x nor as many rows of the weight fit beside each other into a core's caches, and some are left over.
TEST_CASE("tile registers: many rows of x with many of the weight") {
  if (!uses_tiles()) {
    MESSAGE("SKIPPED: the vector target has no tile registers");
    return;
  }
  const int64_t N = 261, C = 2048, K = 273;
  const Tensor x = random_tensor({N, C}, 1), weight = in_16_bits(random_tensor({K, C}, 2), DType::bf16);
  Tensor out({N, K});
  CpuOps().linear(out, x, weight, {});
  const Expected e = linear_in_double(in_16_bits(x, DType::bf16), weight, {});
  CHECK(difference(out, e.value, e.tolerance) == "");
}

TEST_CASE("a row's product is the same among few others and among many, on one thread and on all") {
  CpuOps ops;
  const int threads = omp_get_max_threads();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k})
    // Enough bytes for several threads; weights that a core's caches hold; then rows of several chunks, of which a
    // cache does not hold all of x.
    for (const auto& [N, C, K] : {std::tuple<int64_t, int64_t, int64_t>{11, 259, 2062},
                                  {7, 259, 101},
                                  {7, 768, 101},
                                  {32, 2100, 21},
                                  {12, 11008, 21},
                                  {70, 2112, 21},
                                  {70, 2112, 2062},
                                  {300, 2304, 37}}) {
      if (C % elements_of_block(dtype) != 0) continue;
      const auto way = [&, width = C](int64_t rows) {
        if (!is_quantized(dtype) && takes_tiles(rows, width, dtype)) return 3 + (rows <= rows_in_two_parts);
        return (rows <= small_batch_rows(dtype)) + (takes_bf16_dots(dtype, width) && rows <= rows_in_two_parts);
      };
      const Tensor x = random_tensor({N, C}, 1), weight = random_weight({K, C}, 2, dtype);
      Tensor all({N, K});
      ops.linear(all, x, weight, {});
      for (const int t : {1, 2})
        for (const int64_t together : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 23, 33, 65, 70, 258}) {
          if (together > N) break;
          if (way(together) != way(N)) continue;  // the other way sums in another order
          CAPTURE(name_of(dtype));
          CAPTURE(N);
          CAPTURE(t);
          CAPTURE(together);
          omp_set_num_threads(t);
          Tensor some({together, K});
          ops.linear(some, x.view_rows(N - together, together), weight, {});
          CHECK(values(some) == values(all.view_rows(N - together, together)));
        }
    }
  omp_set_num_threads(threads);
}

TEST_CASE("the CPU's fused steps give what the plain ones give") {
  CpuOps cpu;
  Steps plain(static_cast<Ops&>(cpu));
  const int64_t C = 130, H = 6, G = 2, D = 22, F = 301, context = 64;
  const Tensor norm = random_tensor({C}, 1);
  const QkvWeights qkv{random_tensor({H * D, C}, 2), random_tensor({G * D, C}, 3), random_tensor({G * D, C}, 4), {}};
  const GateUpWeights gate_up{random_tensor({F, C}, 5), random_tensor({F, C}, 6), {}};
  const RopeTables rotary{random_tensor({context, D / 2}, 7), random_tensor({context, D / 2}, 8)};
  for (const int64_t N : {1, 2, 5, 12, 20, 45}) {
    CAPTURE(N);
    const Tensor x = random_tensor({N, C}, 9);
    Rows rows;
    rows.position = Tensor({N}, DType::i32);
    for (int64_t n = 0; n < N; ++n) rows.position.at<int32_t>(n) = int32_t(n * 5 % context);
    Tensor normed({N, C}), hidden[] = {Tensor({N, F}), Tensor({N, F})}, ups({N, F});
    Tensor q[] = {Tensor({N, H, D}), Tensor({N, H, D})}, k[] = {Tensor({N, G, D}), Tensor({N, G, D})};
    Tensor v[] = {Tensor({N, G, D}), Tensor({N, G, D})};
    for (const int i : {0, 1}) {
      Steps& steps = i == 0 ? cpu : plain;
      steps.norm_qkv({q[i], k[i], v[i]}, normed, x, {norm, 1e-5f}, qkv, rotary, rows);
      steps.norm_swiglu(hidden[i], ups, normed, x, {norm, 1e-5f}, gate_up);
    }
    for (const auto* both : {q, k, v, hidden})  // the same sums, so the same bits but for the compiler's choices
      for (int64_t i = 0; i < both[0].count(); ++i)
        CHECK(std::abs(both[0].flat(i) - both[1].flat(i)) <= 4 * u * std::abs(both[1].flat(i)));
  }
}

TEST_CASE("the weights of a fused step may have different dtypes, as those of a GGUF file do") {
  CpuOps cpu;
  const int64_t C = 256, H = 4, G = 2, D = 16, F = 96;
  const DType mixed[] = {DType::q8_0, DType::bf16, DType::q4_0, DType::f32, DType::f16};
  const DType quantized[] = {DType::q4_k, DType::q4_k, DType::q6_k, DType::q8_0, DType::q4_0};
  const Tensor norm = random_tensor({C}, 1);
  for (int first = 0; first < 10; ++first) {
    const auto weight = [&](int64_t rows, int i) -> ConstTensor {
      return random_weight({rows, C}, unsigned(2 + i), (first < 5 ? mixed : quantized)[(first + i) % 5]);
    };
    const QkvWeights qkv{weight(H * D, 0), weight(G * D, 1), weight(G * D, 2), {}};
    const GateUpWeights gate_up{weight(F, 3), weight(F, 4), {}};
    const RopeTables rotary{random_tensor({8, D / 2}, 7), random_tensor({8, D / 2}, 8)};
    for (const int64_t N : {1, 3, 40}) {
      CAPTURE(first);
      CAPTURE(N);
      const Tensor x = random_tensor({N, C}, 9);
      Rows rows;
      rows.position = Tensor({N}, DType::i32);
      Tensor normed({N, C}), hidden({N, F}), ups({N, F}), gate({N, F}), up({N, F});
      Tensor q({N, H, D}), k({N, G, D}), v({N, G, D}), alone({N, G * D});
      cpu.norm_qkv({q, k, v}, normed, x, {norm, 1e-5f}, qkv, rotary, rows);
      cpu.linear(alone, normed, qkv.v, {});
      CHECK(values(v) == values(alone));
      cpu.norm_swiglu(hidden, ups, normed, x, {norm, 1e-5f}, gate_up);
      cpu.linear(gate, normed, gate_up.gate, {});
      cpu.linear(up, normed, gate_up.up, {});
      cpu.silu_mul(gate, up);
      for (int64_t i = 0; i < gate.count(); ++i)
        CHECK(std::abs(hidden.flat(i) - gate.flat(i)) <= 4 * u * std::abs(gate.flat(i)));
    }
  }
}

TEST_CASE("matmul and matmul_transposed equal loops in double") {
  for (const auto& [M, K, N] :
       {std::array<int64_t, 3>{1, 1, 1}, {1, 31, 33}, {33, 31, 1}, {31, 32, 33}, {64, 100, 7}}) {
    CAPTURE(M);
    CAPTURE(K);
    CAPTURE(N);
    const Tensor a = random_tensor({M, K}, 1), b_t = random_tensor({N, K}, 2);
    Tensor b({K, N}), out({M, N}), out_t({M, N});
    for (int64_t k = 0; k < K; ++k)
      for (int64_t n = 0; n < N; ++n) b(k, n) = b_t(n, k);
    matmul(out, a, b);
    matmul_transposed(out_t, a, b_t);
    const Expected e = linear_in_double(a, b_t, Tensor());
    CHECK(difference(out, e.value, e.tolerance) == "");
    CHECK(difference(out_t, e.value, e.tolerance) == "");
  }
}

TEST_CASE("layer_norm equals loops in double, also for a tiny variance and a large mean") {
  CpuOps ops;
  for (const auto& [N, C] : {std::pair<int64_t, int64_t>{1, 1}, {1, 96}, {2, 31}, {33, 33}, {700, 100}})
    for (const auto& [size, mean] : {std::pair{1.0f, 0.0f}, {2e-3f, 0.0f}, {1.0f, 50.0f}, {100.0f, -3.0f}}) {
      CAPTURE(N);
      CAPTURE(C);
      CAPTURE(size);
      CAPTURE(mean);
      Tensor x = random_tensor({N, C}, 1);
      for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = x.flat(i) * size + mean;
      const Tensor weight = random_tensor({C}, 2), bias = random_tensor({C}, 3);
      Tensor out({N, C});
      ops.layer_norm(out, x, weight, bias, 1e-5f);
      const Expected e = layer_norm_in_double(x, weight, bias, 1e-5f);
      CHECK(difference(out, e.value, e.tolerance) == "");
    }
}

TEST_CASE("relu keeps what is positive and does not hide a NaN") {
  CpuOps ops;
  for (const int64_t n : {1, 15, 33}) {
    Tensor x = random_tensor({n}, 1), before = x.copy();
    x.flat(n - 1) = before.flat(n - 1) = std::numeric_limits<float>::quiet_NaN();
    ops.relu(x);
    for (int64_t i = 0; i < n - 1; ++i) CHECK(x.flat(i) == (before.flat(i) > 0 ? before.flat(i) : 0));
    CHECK(std::isnan(x.flat(n - 1)));
  }
}

TEST_CASE("add and copy are exact, embedding takes whole rows") {
  CpuOps ops;
  Tensor x = random_tensor({3, 5}, 1), before = x.copy();
  const Tensor y = random_tensor({3, 5}, 2);
  ops.add(x, y);
  for (int64_t i = 0; i < 15; ++i) CHECK(x.flat(i) == before.flat(i) + y.flat(i));
  ops.copy(x, y);
  CHECK(values(x) == values(y));

  Tensor index({4}, DType::i32), out({4, 5});
  for (int64_t n = 0; n < 4; ++n) index.at<int32_t>(n) = int32_t(2 - n % 3);
  ops.embedding(out, y, index);
  for (int64_t n = 0; n < 4; ++n)
    for (int64_t c = 0; c < 5; ++c) CHECK(out(n, c) == y(2 - n % 3, c));
  for (const int32_t outside : {-1, 3, std::numeric_limits<int32_t>::max()}) {
    index.at<int32_t>(1) = outside;
    CHECK_THROWS_WITH_AS(ops.embedding(out, y, index), Contains("at row 1 is not in [0, 3)"), ShapeError);
  }
}

TEST_CASE("memory goes to the device and back") {
  CpuOps ops;
  const float host[3] = {1, 2, 3};
  float back[3] = {};
  Tensor device = ops.allocate({3});
  ops.upload(device, host);
  ops.download(back, device);
  CHECK(std::equal(host, host + 3, back));
}

TEST_CASE("operations on no rows do nothing") {
  CpuOps ops;
  const Tensor x({0, 4}), weight = random_tensor({3, 4}, 1), bias = random_tensor({3}, 2);
  const Tensor norm = random_tensor({4}, 3), index(Shape{0}, DType::i32);
  Tensor out({0, 3}), normed({0, 4}), heads({0, 1, 4});
  ops.linear(out, x, weight, bias);
  ops.layer_norm(normed, x, norm, norm, 1e-5f);
  ops.relu(normed);
  ops.add(normed, x);
  ops.embedding(normed, weight, index);
  ops.sdpa(heads, heads, heads, heads);
}

TEST_CASE("a tensor of another device is refused by every operation") {
  CpuOps ops;
  Tensor x({2, 4}), y({2, 4}), q({2, 1, 4});
  const auto elsewhere = [](Tensor& t) { return Tensor::view_of(t.raw(), t.shape(), t.dtype(), Place::gpu); };
  Tensor far = elsewhere(x), far_q = elsewhere(q);
  const Tensor w({4, 4}), n({4}), index({2}, DType::i32), cos({8, 2}), sin({8, 2});
  CHECK_THROWS_WITH_AS(ops.add(x, far),
                       "add(x, y): works in the memory of the CPU; these tensors lie in that of the CPU, the GPU",
                       ShapeError);
  CHECK_THROWS_AS(ops.copy(x, far), ShapeError);
  CHECK_THROWS_AS(ops.embedding(far, w, index), ShapeError);
  CHECK_THROWS_AS(ops.linear(x, far, w, {}), ShapeError);
  CHECK_THROWS_AS(ops.layer_norm(x, far, n, n, 1e-5f), ShapeError);
  CHECK_THROWS_AS(ops.rms_norm(x, far, n, 1e-5f), ShapeError);
  CHECK_THROWS_AS(ops.apply_rope(far_q, {cos.view(), sin.view()}, index), ShapeError);
  CHECK_THROWS_AS(ops.relu(far), ShapeError);
  CHECK_THROWS_AS(ops.silu_mul(x, far), ShapeError);
  CHECK_THROWS_AS(ops.sdpa(q, far_q, q, q), ShapeError);
  CHECK(far.view_rows(0, 1).place() == Place::gpu);
  CHECK(far[0].place() == Place::gpu);
}

TEST_CASE("shapes and dtypes that do not fit are refused, with all of them named") {
  CpuOps ops;
  const auto make = [](std::initializer_list<int64_t> dims) { return random_tensor(Shape(dims), 1); };
  const Tensor x = make({2, 4}), w = make({3, 4}), b3 = make({3}), b4 = make({4}), wide({2, 4}, DType::f64);
  Tensor out = make({2, 3}), same = make({2, 4}), one = make({1, 4});
  CHECK_THROWS_WITH_AS(ops.linear(out, x, make({4, 3}), b3),
                       "linear(out, x, weight, bias): these shapes do not fit together: (2, 3), (2, 4), (4, 3), (3,)",
                       ShapeError);
  CHECK_THROWS_AS(ops.linear(out, x, w, b4), ShapeError);
  CHECK_THROWS_AS(ops.linear(same, x, w, b3), ShapeError);
  CHECK_THROWS_AS(ops.linear(one, x, w, b3), ShapeError);
  CHECK_THROWS_WITH_AS(ops.linear(out, wide, w, b3), Contains("f64 was used as f32"), ShapeError);
  CHECK_THROWS_AS(ops.layer_norm(same, x, b3, b4, 1e-5f), ShapeError);
  CHECK_THROWS_AS(ops.layer_norm(same, x, b4, b3, 1e-5f), ShapeError);
  CHECK_THROWS_AS(ops.layer_norm(out, x, b4, b4, 1e-5f), ShapeError);
  CHECK_THROWS_AS(ops.add(same, one), ShapeError);
  CHECK_THROWS_AS(ops.copy(same, Tensor({2, 4}, DType::i32)), ShapeError);
  CHECK_THROWS_AS(ops.embedding(same, w, Tensor({3}, DType::i32)), ShapeError);
  CHECK_THROWS_AS(ops.embedding(out, w, Tensor({2}, DType::i32)), ShapeError);
  CHECK_THROWS_AS(ops.embedding(same, w, Tensor({2}, DType::i64)), ShapeError);
  CHECK_THROWS_WITH_AS(ops.sdpa(same, x, x, x),
                       "sdpa(out, q, k, v): these shapes do not fit together: (2, 4), (2, 4), (2, 4), (2, 4)",
                       ShapeError);  // no heads
  const Tensor q = make({2, 2, 4});
  Tensor read = make({2, 2, 4}), narrow = make({2, 2, 3});
  CHECK_THROWS_AS(ops.sdpa(read, q, make({1, 2, 4}), make({1, 2, 4})), ShapeError);  // T > S
  CHECK_THROWS_AS(ops.sdpa(read, q, make({5, 2, 4}), make({6, 2, 4})), ShapeError);
  CHECK_THROWS_AS(ops.sdpa(read, q, make({5, 2, 3}), make({5, 2, 3})), ShapeError);
  CHECK_THROWS_AS(ops.sdpa(read, q, make({5, 3, 4}), make({5, 3, 4})), ShapeError);
  CHECK_THROWS_AS(ops.sdpa(narrow, q, make({5, 2, 4}), make({5, 2, 4})), ShapeError);
  CHECK_THROWS_AS(matmul(out, x, w), ShapeError);
  CHECK_THROWS_AS(matmul_transposed(out, x, make({4, 3})), ShapeError);
}

TEST_SUITE_END();
