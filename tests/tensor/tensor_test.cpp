#include "rungs/tensor/tensor.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("tensor");

static constexpr int64_t largest = std::numeric_limits<int64_t>::max();

TEST_CASE("a shape counts its elements") {
  CHECK(Shape{}.count() == 1);
  CHECK(Shape{0}.count() == 0);
  CHECK(Shape{3, 4, 5}.count() == 60);
  CHECK(Shape{0, largest}.count() == 0);
  CHECK(Shape{3, 4}[-1] == 4);
  CHECK(to_string(Shape{}) == "()");
  CHECK(to_string(Shape{3}) == "(3,)");
  CHECK(to_string(Shape{3, 4}) == "(3, 4)");
  CHECK(Shape{2, 3} != Shape{3, 2});
  CHECK(Shape{2} != Shape{2, 1});
}

TEST_CASE("a shape whose bytes do not fit in 64 bits is refused") {
  CHECK_THROWS_WITH_AS(Shape({int64_t(1) << 31, int64_t(1) << 31}), Contains("too large"), ShapeError);
  CHECK_THROWS_WITH_AS(Shape({int64_t(1) << 60}), Contains("too large"), ShapeError);
  CHECK_THROWS_WITH_AS(Shape({largest, largest}), Contains("too large"), ShapeError);
  CHECK_THROWS_WITH_AS(Shape({int64_t(1) << 32, int64_t(1) << 32}), Contains("too large"),
                       ShapeError);  // 2^64 wraps to 0
  CHECK_THROWS_WITH_AS(Shape({2, -1}), Contains("cannot be -1"), ShapeError);
  CHECK_THROWS_WITH_AS(Shape({1, 1, 1, 1, 1}), Contains("at most 4"), ShapeError);
}

TEST_CASE("memory that cannot be had is an error with a sentence") {
  CHECK_THROWS_WITH_AS(Tensor::uninitialised({int64_t(1) << 57}), Contains("no memory"), Error);
}

TEST_CASE("a dimension that is not there is refused") {
  const Shape shape{3, 4};
  CHECK_THROWS_AS(shape[2], ShapeError);
  CHECK_THROWS_AS(shape[-3], ShapeError);
  CHECK_THROWS_AS(Shape{}[-1], ShapeError);
}

TEST_CASE("elements stand row after row and every index is checked") {
  Tensor t({2, 3});
  for (int64_t i = 0; i < 6; ++i) t.flat(i) = float(i);
  CHECK(t(1, 2) == 5);
  CHECK(t.at(0, 1) == 1);
  CHECK_THROWS_WITH_AS(t(2, 0), Contains("index (2, 0) is outside a tensor of shape (2, 3)"), ShapeError);
  CHECK_THROWS_AS(t(0, 3), ShapeError);  // is in the memory, and still not in the row
  CHECK_THROWS_AS(t(0, -1), ShapeError);
  CHECK_THROWS_AS(t(largest, largest), ShapeError);
  CHECK_THROWS_AS(t(0), ShapeError);
  CHECK_THROWS_AS(t(0, 0, 0), ShapeError);
  CHECK_THROWS_AS(t.flat(6), ShapeError);
  CHECK_THROWS_AS(t.flat(-1), ShapeError);
  CHECK_THROWS_AS(t.value(6), ShapeError);
  CHECK_THROWS_WITH_AS(t.data<int32_t>(), Contains("f32 was used as i32"), ShapeError);
}

TEST_CASE("no tensor at all has no elements") {
  const Tensor none;
  CHECK_FALSE(bool(none));
  CHECK(none.count() == 0);
  CHECK(none.bytes() == 0);
  CHECK_FALSE(bool(none.copy()));
  CHECK_THROWS_AS(none.value(0), ShapeError);
}

TEST_CASE("a moved tensor leaves none behind, and moving does not copy") {
  static_assert(!std::is_copy_constructible_v<Tensor>);
  Tensor a({4});
  const void* memory = a.raw();
  Tensor b = std::move(a);
  CHECK(b.raw() == memory);
  CHECK_FALSE(bool(a));
  CHECK(a.count() == 0);
}

// What compiles with a Tensor& and must not with a const one.
template <class T>
concept writes_an_element = requires(T t) {
  t(0, 0) = 1.0f;
};
template <class T>
concept writes_through_data = requires(T t) {
  t.template data<float>()[0] = 1.0f;
};
template <class T>
concept writes_through_rows = requires(T t) {
  t.view_rows(0, 1).template data<float>()[0] = 1.0f;
};
template <class T>
concept writes_through_an_entry = requires(T t) {
  t[0].flat(0) = 1.0f;
};
template <class T>
concept writes_through_another_shape = requires(T t) {
  t.reshaped({1})(0) = 1.0f;
};
template <class T>
concept writes_through_a_view = requires(T t) {
  t.view().template at<float>(0) = 1.0f;
};
template <class T>
concept writes_raw_memory = requires(T t) {
  std::memset(t.view().raw(), 0, 1);
};

template <class T>
static std::vector<bool> ways_to_write() {
  return {writes_an_element<T>,       writes_through_data<T>,          writes_through_rows<T>,
          writes_through_an_entry<T>, writes_through_another_shape<T>, writes_through_a_view<T>,
          writes_raw_memory<T>};
}

TEST_CASE("writing through a read-only view does not compile") {
  CHECK(ways_to_write<Tensor&>() == std::vector<bool>(7, true));
  CHECK(ways_to_write<const Tensor&>() == std::vector<bool>(7, false));
  CHECK(ways_to_write<ConstTensor&>() == std::vector<bool>(7, false));
  CHECK(std::is_convertible_v<ConstTensor, const Tensor&>);
  CHECK_FALSE(std::is_constructible_v<Tensor, ConstTensor>);
  CHECK_FALSE(std::is_assignable_v<Tensor&, ConstTensor>);
  const float numbers[] = {1, 2};
  CHECK(std::is_same_v<decltype(Tensor::view_of(numbers, {2}, DType::f32)), ConstTensor>);
}

TEST_CASE("views share memory and stay inside it") {
  Tensor t({4, 2, 3});
  for (int64_t i = 0; i < t.count(); ++i) t.flat(i) = float(i);
  Tensor middle = t.view_rows(1, 2);
  CHECK(middle.shape() == Shape{2, 2, 3});
  middle(0, 0, 0) = -1;
  CHECK(t(1, 0, 0) == -1);
  CHECK(t.view_rows(4, 0).count() == 0);
  CHECK(t[3].shape() == Shape{2, 3});
  CHECK(t[3](1, 2) == 23);
  CHECK(t[3][1](0) == 21);
  CHECK(t[3][1][0].shape() == Shape{});
  CHECK(t.reshaped({8, 3})(7, 0) == 21);
  CHECK(t.copy()(1, 0, 0) == -1);
  CHECK(t.copy().raw() != t.raw());

  CHECK_THROWS_AS(t.view_rows(3, 2), ShapeError);
  CHECK_THROWS_AS(t.view_rows(-1, 1), ShapeError);
  CHECK_THROWS_AS(t.view_rows(0, -1), ShapeError);
  CHECK_THROWS_AS(t.view_rows(largest, largest), ShapeError);
  CHECK_THROWS_AS(t[4], ShapeError);
  CHECK_THROWS_AS(t.view_rows(0, 0)[0], ShapeError);
  CHECK_THROWS_AS(Tensor(Shape{})[0], ShapeError);
  CHECK_THROWS_WITH_AS(t.reshaped({5, 5}), Contains("24 elements are not 25"), ShapeError);
}

TEST_CASE("fresh memory is a NaN that tells that nobody has written it") {
  const Tensor t({100});
  for (int64_t i = 0; i < 100; ++i) REQUIRE(std::bit_cast<uint32_t>(t.flat(i)) == never_written);
  for (const DType type : {DType::f64, DType::bf16, DType::f16}) CHECK(std::isnan(Tensor({3}, type).value(2)));
  for (const DType type : {DType::i32, DType::i64}) CHECK(Tensor({3}, type).value(2) == 0);
  CHECK(reinterpret_cast<uintptr_t>(t.raw()) % 64 == 0);
}

TEST_CASE("fresh noise is finite and the same for the same size") {
  set_fresh_memory(FreshMemory::noise);
  const Tensor a({1000}), b({1000}), c({999});
  set_fresh_memory(FreshMemory::nan);
  CHECK(values(a) == values(b));
  CHECK(a.flat(0) != c.flat(0));
  for (int64_t i = 0; i < 1000; ++i) REQUIRE(std::fabs(a.flat(i)) <= 1);
  CHECK(a.flat(0) != a.flat(1));
}

TEST_CASE("conversions keep what fits and refuse what does not") {
  Tensor x({3});
  x(0) = 1.5f, x(1) = -0.1f, x(2) = 3e38f;
  CHECK(values(converted(x, DType::f64)) == values(x));
  CHECK(converted(x, DType::bf16).value(0) == 1.5);
  CHECK(std::fabs(converted(x, DType::bf16).value(1) + 0.1) < 0.1 * 0x1p-8);
  CHECK(values(converted(converted(x, DType::f64), DType::f32)) == values(x));
  CHECK_THROWS_WITH_AS(converted(x, DType::i32), Contains("f32 is not converted to i32"), ShapeError);
  CHECK(converted(x, DType::f16).value(0) == x.value(0));

  Tensor half({2}, DType::f16);
  half.data<f16>()[0] = {0x3c00}, half.data<f16>()[1] = {0xc000};
  CHECK(values(converted(half, DType::f32)) == std::vector<double>{1, -2});

  Tensor id({2}, DType::i64);
  id.at<int64_t>(0) = -5, id.at<int64_t>(1) = int64_t(1) << 31;
  CHECK_THROWS_WITH_AS(converted(id, DType::i32), Contains("2147483648 does not fit"), ShapeError);
  CHECK(converted(id.view_rows(0, 1), DType::i32).at<int32_t>(0) == -5);
  CHECK_THROWS_AS(converted(id, DType::f32), ShapeError);
}

TEST_SUITE_END();
