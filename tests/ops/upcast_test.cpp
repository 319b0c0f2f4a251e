#include "rungs/ops/upcast.hpp"

#include "ops/expected.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("ops");

TEST_CASE("upcast gives each element as it is, at every length and alignment") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Tensor x = converted(random_tensor({400}, 1), dtype);
    for (int64_t first = 0; first < 17; ++first)
      for (int64_t n = 0; n <= 300; n += n < 40 ? 1 : 37) {
        Tensor out({n + 1});
        upcast(out.data(), x, first, n);
        for (int64_t i = 0; i < n; ++i) REQUIRE(double(out.flat(i)) == x.value(first + i));
        CHECK(std::isnan(out.flat(n)));  // not written
      }
  }
}

TEST_CASE("upcast takes rows of a head out of all heads") {
  const int64_t S = 5, G = 3, D = 96;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::q8_0, DType::q4_0}) {
    CAPTURE(name_of(dtype));
    const Tensor x = converted(random_tensor({S, G, D}, 1), dtype);
    Tensor out({S, D});
    upcast(out.data(), x, 2 * D, D, S, G * D);  // head 2
    for (int64_t s = 0; s < S; ++s)
      for (int64_t d = 0; d < D; ++d) REQUIRE(double(out(s, d)) == x.value((s * G + 2) * D + d));
  }
  for (const DType dtype : {DType::q4_k, DType::q6_k}) {
    const Tensor x = random_weight({4, 512}, 2, dtype);
    Tensor out({2, 512});
    upcast(out.data(), x, 512, 512, 2, 1024);
    for (int64_t i = 0; i < out.count(); ++i) REQUIRE(double(out.flat(i)) == x.value(512 + i + i / 512 * 512));
  }
}

TEST_CASE("upcast of 16 bits keeps subnormals, infinities and NaN") {
  Tensor halves({1 << 16}, DType::f16), uppers({1 << 16}, DType::bf16), out({1 << 16});
  for (int32_t bits = 0; bits < 1 << 16; ++bits)
    halves.data<f16>()[bits] = {uint16_t(bits)}, uppers.data<bf16>()[bits] = {uint16_t(bits)};
  for (const Tensor* x : {&halves, &uppers}) {
    upcast(out.data(), *x, 0, out.count());
    for (int64_t i = 0; i < out.count(); ++i) {
      const double want = x->value(i);
      REQUIRE((std::isnan(want) ? std::isnan(out.flat(i)) : double(out.flat(i)) == want));
    }
  }
}

TEST_CASE("upcast refuses what is no float") {
  float out[4];
  CHECK_THROWS_AS(upcast(out, Tensor({4}, DType::i32), 0, 4), ShapeError);
}

TEST_SUITE_END();
