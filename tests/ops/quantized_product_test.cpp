#include "ops/expected.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("ops");

TEST_CASE("quantized weights: whole numbers multiply exactly") {
  CpuOps ops;
  std::mt19937 random(5);
  const auto whole = [&](const Shape& shape, int64_t least, int64_t most) {
    Tensor t(shape);
    for (int64_t i = 0; i < t.count(); ++i) t.flat(i) = float(least + int64_t(random() % uint64_t(most - least + 1)));
    for (int64_t i = 0; i < t.count(); i += block_elements)
      t.flat(i + int64_t(random() % block_elements)) = float(least);
    return t;  // the largest magnitude of each block is that of `least`, so that its scale is 1
  };
  for (const auto& [dtype, least, most] :
       {std::tuple<DType, int64_t, int64_t>{DType::q8_0, -127, 127}, {DType::q4_0, -8, 7}})
    for (const int64_t N : {1, 2, 3, 4, 5, 7, 13, 70})
      for (const auto& [C, K] : {std::pair<int64_t, int64_t>{32, 1}, {64, 5}, {96, 33}, {320, 7}}) {
        CAPTURE(name_of(dtype));
        CAPTURE(N);
        CAPTURE(C);
        CAPTURE(K);
        const Tensor x = whole({N, C}, -127, 127), numbers = whole({K, C}, least, most);
        const Tensor weight = converted(numbers, dtype);
        Tensor out({N, K});
        ops.linear(out, x, weight, {});
        const Expected e = linear_in_double(x, numbers, {});
        CHECK(difference(out, e.value, std::vector<double>(e.value.size(), 0)) == "");
      }
}

TEST_CASE("quantized weights: the product of what x and the weight are rounded to") {
  CpuOps ops;
  for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k})
    for (const int64_t N : {1, 2, 5, 33, 70, 330})
      for (const auto& [C, K] : {std::pair<int64_t, int64_t>{32, 6}, {256, 7}, {1056, 70}, {2304, 5}}) {
        if (C % elements_of_block(dtype) != 0) continue;
        CAPTURE(name_of(dtype));
        CAPTURE(N);
        CAPTURE(C);
        const Tensor x = random_tensor({N, C}, 1), weight = random_weight({K, C}, 2, dtype);
        Tensor seen = x.copy();
        for (int64_t i = 0; i < seen.count(); i += block_elements) {
          float largest = 0;
          for (int64_t j = i; j < i + block_elements; ++j) largest = std::max(largest, std::fabs(x.flat(j)));
          const float scale = largest / 127;
          for (int64_t j = i; j < i + block_elements; ++j)
            seen.flat(j) = std::nearbyint(x.flat(j) * (1 / scale)) * scale;
        }
        Tensor out({N, K});
        ops.linear(out, x, weight, {});
        const Expected e = linear_in_double(seen, weight, {});
        CHECK(difference(out, e.value, e.tolerance) == "");
      }
}

TEST_CASE("quantized weights: the largest numbers and scales of groups fit where they are added up") {
  CpuOps ops;
  for (const DType dtype : {DType::q4_k, DType::q6_k})
    for (const int number : {0x00, 0xff})
      for (const int group : {0x00, 0x7f, 0x80, 0xff})
        for (const int64_t N : {1, 2, 5, 33}) {
          CAPTURE(name_of(dtype));
          CAPTURE(number);
          CAPTURE(group);
          CAPTURE(N);
          Tensor weight = Tensor::uninitialised({19, 512}, dtype), x({N, 512}), out({N, 19});
          std::fill_n(static_cast<uint8_t*>(weight.raw()), weight.bytes(), uint8_t(number));
          for (int64_t i = 0; i < weight.count() / large_block_elements; ++i)
            if (dtype == DType::q4_k) {
              q4_k& block = weight.data<q4_k>()[i];
              block.scale = to_f16(1), block.min_scale = to_f16(1);
              std::fill_n(block.groups, std::size(block.groups), uint8_t(group));
            } else {
              q6_k& block = weight.data<q6_k>()[i];
              block.scale = to_f16(1);
              std::fill_n(block.groups, std::size(block.groups), int8_t(group));
            }
          for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = i / 512 % 2 ? -127.0f : 127.0f;  // whole numbers, too
          ops.linear(out, x, weight, {});
          const Expected e = linear_in_double(x, weight, {});
          CHECK(difference(out, e.value, e.tolerance) == "");
        }
}

TEST_CASE("quantized weights: a NaN and an infinity in x are seen in every element of its row, and nowhere else") {
  CpuOps ops;
  for (const DType dtype : {DType::q8_0, DType::q4_k})
    for (const float bad : {std::nanf(""), HUGE_VALF})
      for (const int64_t N : {3, 40}) {
        const Tensor weight = random_weight({6, 256}, 2, dtype);
        Tensor x = random_tensor({N, 256}, 1), out({N, 6});
        x(1, 40) = bad;
        ops.linear(out, x, weight, {});
        for (int64_t n = 0; n < N; ++n)
          for (int64_t k = 0; k < 6; ++k) CHECK((n == 1 ? std::isnan(out(n, k)) : std::isfinite(out(n, k))));
      }
}

TEST_SUITE_END();
