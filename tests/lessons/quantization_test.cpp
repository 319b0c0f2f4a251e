// Lesson 24 beside rungs/tensor and rungs/ops.
#include "24_quantization/lesson.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/quantize.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("lessons");

TEST_CASE("lesson 24: int8 in groups of 32 has the whole numbers of the library's q8_0") {
  const Tensor x = random_tensor({9, 96}, 1), blocks = converted(x, DType::q8_0);
  const lesson_24::Int8 plain = lesson_24::quantize_groups(x, block_elements);
  for (int64_t b = 0; b < plain.scale.count(); ++b) {
    const q8_0& block = blocks.data<q8_0>()[b];
    CHECK(to_f16(plain.scale.flat(b)).bits == block.scale.bits);
    for (int64_t i = 0; i < block_elements; ++i) CHECK(plain.q[b * block_elements + i] == block.q[i]);
  }
}

TEST_CASE("lesson 24: a block in 4 bits has the bytes and the values of the library's q4_0") {
  const Tensor x = random_tensor({200, block_elements}, 2), blocks = converted(x, DType::q4_0);
  for (int64_t b = 0; b < x.dim(0); ++b) {
    const q4_0 plain = lesson_24::quantize_block(x[b]), &block = blocks.data<q4_0>()[b];
    CAPTURE(b);
    CHECK(std::memcmp(&plain, &block, sizeof block) == 0);
    Tensor values({block_elements});
    lesson_24::dequantize_block(values, plain);
    for (int64_t i = 0; i < block_elements; ++i) CHECK(values(i) == value_of(block, i));
  }
}

TEST_CASE("lesson 24: linear in whole numbers equals the library's on q8_0") {
  constexpr int64_t N = 5, C = 192, K = 17, groups = C / block_elements;
  const Tensor x = random_tensor({N, C}, 3), weight = converted(random_tensor({K, C}, 4), DType::q8_0);
  lesson_24::Int8 same{{}, Tensor({K, groups})};  // the same whole numbers and scales
  for (int64_t b = 0; b < K * groups; ++b) {
    const q8_0& block = weight.data<q8_0>()[b];
    same.q.insert(same.q.end(), block.q, block.q + block_elements);
    same.scale.flat(b) = to_float(block.scale);
  }
  Tensor plain({N, K}), fast({N, K});
  lesson_24::linear(plain, x, same, block_elements);
  CpuOps().linear(fast, x, weight, {});
  // Products of whole numbers are exact; what is rounded is one product of two scales, and a sum, for each group, in
  // both: γ_n each way, of groups that are each below 33 (32 products of numbers at most 1, after rounding).
  const Comparison c = compare(plain, fast, {2 * double(groups + 4) * unit_roundoff * 33 * double(groups)});
  INFO("the worst element: got ", c.got, ", want ", c.want, ", ", c.fraction, " of the tolerance");
  CHECK(c.pass);
}

TEST_SUITE_END();
