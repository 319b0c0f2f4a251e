// Operations that treat each row by itself.
#include <cstring>
#include <functional>

#include "contains.hpp"
#include "ops/expected.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/cpu_workspace.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("ops");

namespace {

constexpr int64_t H = 12, D = 64, C = H * D;
constexpr int64_t few = 3, many = 91;  // rows: more elements than one thread takes alone (cpu_parts.hpp) are in 91

Tensor positions(int64_t N, int64_t context) {
  Tensor out({N}, DType::i32);
  for (int64_t n = 0; n < N; ++n) out.data<int32_t>()[n] = int32_t((n * 7 + 3) % context);
  return out;
}

/// Rows [first, first + n) of what was given, changed.
using OfRows = std::function<void(Tensor& x, int64_t first, int64_t n)>;

void check_same_alone(const Tensor& x, const OfRows& work) {
  Tensor all = x.copy();
  work(all, 0, x.dim(0));
  REQUIRE(std::memcmp(all.raw(), x.raw(), x.bytes()) != 0);
  for (int64_t n = 0; n < x.dim(0); ++n) {
    CAPTURE(n);
    Tensor alone = x.view_rows(n, 1).copy();
    work(alone, n, 1);
    CHECK(std::memcmp(alone.raw(), all.view_rows(n, 1).raw(), alone.bytes()) == 0);
  }
}

}  // namespace

TEST_CASE("a row is the same to the last bit whether threads share the rows or it is alone") {
  CpuOps ops;
  const int threads = threads_of_cpu();
  use_threads(3);
  const Tensor x = random_tensor({many, C}, 1), y = random_tensor({many, C}, 2), heads = random_tensor({many, H, D}, 3);
  const Tensor weight = random_tensor({C}, 4), bias = random_tensor({C}, 5), index = positions(many, 40);
  const Tensor cos = random_tensor({40, D / 2}, 6), sin = random_tensor({40, D / 2}, 7);
  check_same_alone(x, [&](Tensor& out, int64_t first, int64_t n) {
    ops.layer_norm(out, x.view_rows(first, n), weight, bias, 1e-5f);
  });
  check_same_alone(
      x, [&](Tensor& out, int64_t first, int64_t n) { ops.rms_norm(out, x.view_rows(first, n), weight, 1e-5f); });
  check_same_alone(x, [&](Tensor& out, int64_t first, int64_t n) { ops.silu_mul(out, y.view_rows(first, n)); });
  check_same_alone(x, [&](Tensor& out, int64_t first, int64_t n) { ops.add(out, y.view_rows(first, n)); });
  check_same_alone(heads, [&](Tensor& out, int64_t first, int64_t n) {
    ops.apply_rope(out, {cos.view(), sin.view()}, index.view_rows(first, n));
  });
  use_threads(threads);
}

TEST_CASE("norms equal their formulas in double, of few rows and of many") {
  CpuOps ops;
  const Tensor weight = random_tensor({C}, 4), bias = random_tensor({C}, 5);
  for (const int64_t N : {few, many}) {
    CAPTURE(N);
    const Tensor x = random_tensor({N, C}, 1);
    Tensor out({N, C});
    ops.layer_norm(out, x, weight, bias, 1e-5f);
    const Expected layer = layer_norm_in_double(x, weight, bias, 1e-5f);
    CHECK(difference(out, layer.value, layer.tolerance) == "");
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      CAPTURE(name_of(dtype));
      const Tensor w = converted(weight, dtype);
      ops.rms_norm(out, x, w, 1e-5f);
      const Expected rms = rms_norm_in_double(x, w, 1e-5f);
      CHECK(difference(out, rms.value, rms.tolerance) == "");
    }
  }
}

TEST_CASE("a position outside the tables is refused before any row is turned") {
  CpuOps ops;
  const Tensor cos({40, D / 2}), sin({40, D / 2}), before = random_tensor({many, H, D}, 1);
  for (const int32_t wrong : {-1, 40}) {
    Tensor x = before.copy(), index = positions(many, 40);
    index.data<int32_t>()[many - 1] = wrong;
    CHECK_THROWS_WITH_AS(ops.apply_rope(x, {cos.view(), sin.view()}, index), Contains("at row 90 is not in [0, 40)"),
                         ShapeError);
    CHECK(std::memcmp(x.raw(), before.raw(), x.bytes()) == 0);
  }
}

TEST_SUITE_END();
