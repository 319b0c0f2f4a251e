#include "rungs/tensor/compare.hpp"

#include <cmath>
#include <limits>

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("tensor");

static constexpr float infinity = std::numeric_limits<float>::infinity();
static const float nan_value = std::numeric_limits<float>::quiet_NaN();

static Tensor row(std::initializer_list<float> list) {
  Tensor t({int64_t(list.size())});
  std::copy(list.begin(), list.end(), t.data());
  return t;
}

TEST_CASE("compare passes up to the tolerance and not beyond") {
  const Tensor want = row({1, 2, 3, 4});
  CHECK(compare(row({1, 2, 3.25f, 4}), want, {.absolute = 0.25}).pass);
  const Comparison c = compare(row({1, 2.25f, 3.5f, 4}), want, {.absolute = 0.125});
  CHECK_FALSE(c.pass);
  CHECK(c.count == 4);
  CHECK(c.wrong == 2);
  CHECK(c.worst == 2);
  CHECK(c.got == 3.5);
  CHECK(c.want == 3);
  CHECK(c.fraction == 4);
}

TEST_CASE("compare never lets NaN pass, not even as NaN or under an infinite tolerance") {
  for (const double tolerance : {0.0, 1.0, double(infinity)}) {
    CHECK_FALSE(compare(row({nan_value}), row({1}), {.absolute = tolerance}).pass);
    CHECK_FALSE(compare(row({1}), row({nan_value}), {.absolute = tolerance}).pass);
    CHECK_FALSE(compare(row({nan_value}), row({nan_value}), {.absolute = tolerance}).pass);
  }
  CHECK_FALSE(compare(row({1}), row({2}), {.absolute = nan_value}).pass);
  const Comparison c = compare(row({0, nan_value, 5}), row({0, 0, 0}), {.absolute = 1});
  CHECK(c.nans == 1);
  CHECK(c.worst == 1);
  CHECK(std::isinf(c.fraction));
}

TEST_CASE("compare takes an infinity only for itself") {
  CHECK(compare(row({infinity, -infinity}), row({infinity, -infinity}), {}).pass);
  CHECK_FALSE(compare(row({infinity}), row({-infinity}), {.absolute = 1e300}).pass);
  CHECK_FALSE(compare(row({infinity}), row({3e38f}), {.absolute = 1e300}).pass);
  CHECK_FALSE(compare(row({3e38f}), row({infinity}), {.absolute = 1e300}).pass);
  CHECK_FALSE(compare(row({3}), row({infinity}), {.absolute = infinity}).pass);
  CHECK(compare(row({infinity, 1}), row({infinity, 1}), {}).infinite == 1);
}

TEST_CASE("compare holds each element to its own tolerance") {
  const Tensor want = row({0, 0}), tolerance = row({0.5f, 0.125f});
  CHECK(compare(row({0.5f, 0.125f}), want, {.each = &tolerance}).pass);
  const Comparison c = compare(row({0.25f, 0.25f}), want, {.each = &tolerance});
  CHECK(c.wrong == 1);
  CHECK(c.worst == 1);
  CHECK(c.fraction == 2);
  const Tensor short_tolerance = row({1});
  CHECK_THROWS_AS(compare(row({0, 0}), want, {.each = &short_tolerance}), ShapeError);
}

TEST_CASE("compare wants integers exactly, whatever the tolerance") {
  Tensor got({2}, DType::i64), want({2}, DType::i64);
  got.at<int64_t>(0) = want.at<int64_t>(0) = 7;
  got.at<int64_t>(1) = want.at<int64_t>(1) = (int64_t(1) << 60) + 1;
  CHECK(compare(got, want, {}).pass);
  want.at<int64_t>(1) -= 1;  // the same double
  CHECK_FALSE(compare(got, want, {.absolute = 1e9}).pass);
  CHECK(compare(got, want, {.absolute = 1e9}).worst == 1);
  Tensor narrow({2}, DType::i32);
  narrow.at<int32_t>(0) = 7, narrow.at<int32_t>(1) = 8;
  CHECK(compare(narrow, got, {.absolute = 1e30}).wrong == 1);
}

TEST_CASE("compare says what is wrong with the shape") {
  const Comparison c = compare(row({1, 2}), row({1}), {.absolute = 9});
  CHECK_FALSE(c.pass);
  CHECK(c.shape_problem == "its shape is (2,), wanted (1,)");
  CHECK(std::isinf(c.fraction));
  CHECK_FALSE(compare(Tensor(), row({1}), {}).pass);
  CHECK(compare(Tensor(Shape{0}), Tensor(Shape{0}), {}).pass);
}

TEST_CASE("compare counts what was never written") {
  CHECK(compare(Tensor(Shape{3}), row({0, 0, 0}), {}).unwritten == 3);
  CHECK(compare(row({nan_value}), row({0}), {}).unwritten == 0);
}

TEST_CASE("a place is told by the names of its dimensions") {
  CHECK(place_of(23, {2, 3, 4}, {"token", "head", "dim"}) == "token 1, head 2, dim 3");
  CHECK(place_of(5, {2, 3}, {"token"}) == "token 1, index 1: 2");
  CHECK(place_of(0, {}, {}) == "");
}

TEST_SUITE_END();
