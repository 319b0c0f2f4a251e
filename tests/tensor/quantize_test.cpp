#include "rungs/tensor/quantize.hpp"

#include "rungs/base/file.hpp"
#include "rungs/tensor/npy.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("tensor");

/// Blocks, their bytes and their values are those of the gguf package: weights/make_quantized.py.
template <class Q>
static void check_blocks() {
  const auto folder = weights_directory() / "references" / "quantized";
  const std::string name(name_of(dtype_of<Q>));
  const Tensor x = load_npy(folder / "x.npy"), bytes = load_npy(folder / (name + ".npy")),
               wanted = load_npy(folder / (name + "_values.npy"));
  const Tensor blocks = converted(x, dtype_of<Q>);
  REQUIRE(blocks.bytes() == size_t(bytes.count()));
  const auto* found = static_cast<const uint8_t*>(blocks.raw());
  for (int64_t i = 0; i < bytes.count(); ++i) {
    CAPTURE(i / int64_t(sizeof(Q)));
    CAPTURE(i % int64_t(sizeof(Q)));
    CHECK(found[i] == bytes.data<int32_t>()[i]);
  }
  for (int64_t i = 0; i < wanted.count(); ++i) {
    CAPTURE(i);
    CHECK(float(blocks.value(i)) == wanted.flat(i));
  }
}

TEST_CASE("q8_0 has the bytes and the values of GGUF's") { check_blocks<q8_0>(); }

TEST_CASE("q4_0 has the bytes and the values of GGUF's") { check_blocks<q4_0>(); }

/// Blocks that the package does not make are random.
template <class Q>
static void check_values() {
  const auto folder = weights_directory() / "references" / "quantized";
  const std::string name(name_of(dtype_of<Q>));
  const Tensor bytes = load_npy(folder / (name + ".npy")), wanted = load_npy(folder / (name + "_values.npy"));
  Tensor blocks = Tensor::uninitialised(wanted.shape(), dtype_of<Q>);
  REQUIRE(blocks.bytes() == size_t(bytes.count()));
  std::copy_n(bytes.data<int32_t>(), bytes.count(), static_cast<uint8_t*>(blocks.raw()));
  for (int64_t i = 0; i < wanted.count(); ++i) {
    CAPTURE(i);
    CHECK(float(blocks.value(i)) == wanted.flat(i));
  }
}

TEST_CASE("q4_k has the values of GGUF's") { check_values<q4_k>(); }

TEST_CASE("q6_k has the values of GGUF's") { check_values<q6_k>(); }

TEST_CASE("an f16 is the nearest half, ties to even") {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {  // every finite half, and what lies around the middle to the next
    const float x = to_float(f16{uint16_t(bits)}), next = bits == 0x7bff ? 65536.0f : to_float(f16{uint16_t(bits + 1)});
    const float middle = x + (next - x) / 2, before = std::nextafter(middle, x), after = std::nextafter(middle, next);
    const auto up = uint16_t(bits + 1);
    CHECK(to_f16(x).bits == bits);
    CHECK(to_f16(-x).bits == (bits | 0x8000));
    CHECK(to_f16(before).bits == bits);
    CHECK(to_f16(middle).bits == (bits % 2 ? up : bits));
    CHECK(to_f16(after).bits == up);
  }
  CHECK(std::isnan(to_float(to_f16(std::nanf("")))));
  CHECK(to_float(to_f16(1e30f)) == HUGE_VALF);
}

TEST_CASE("a block that holds no finite number stands for none") {
  for (const float bad : {std::nanf(""), HUGE_VALF}) {
    Tensor x({1, 32});
    for (int64_t i = 0; i < 32; ++i) x.flat(i) = float(i);
    x.flat(7) = bad;
    for (const DType dtype : {DType::q8_0, DType::q4_0}) CHECK_FALSE(std::isfinite(converted(x, dtype).value(3)));
  }
}

TEST_CASE("rows that blocks do not divide are refused in a sentence") {
  CHECK_THROWS_WITH_AS(Tensor::uninitialised({4, 40}, DType::q8_0),
                       "q8_0 has blocks of 32 elements, which do not divide the rows of shape (4, 40)", ShapeError);
  CHECK_THROWS_WITH_AS(Tensor::uninitialised({4, 64}, DType::q6_k),
                       "q6_k has blocks of 256 elements, which do not divide the rows of shape (4, 64)", ShapeError);
  CHECK_THROWS_WITH_AS(converted(random_tensor({4, 256}, 1), DType::q4_k), "f32 is not converted to q4_k", ShapeError);
  const Tensor weight = converted(random_tensor({6, 64}, 1), DType::q4_0);
  CHECK(weight.bytes() == 6 * 2 * 18);
  CHECK(weight.view_rows(4, 2).value(3) == weight.value(4 * 64 + 3));
}

TEST_SUITE_END();
