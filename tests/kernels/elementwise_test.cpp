#include "kernels/elementwise/elementwise.hpp"

#include <limits>

#include "rows.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

static constexpr int64_t counts[] = {1, 3, 31, 32, 33, 255, 256, 257, 1000, 1023, 1025, 4099};

TEST_CASE("add adds every element once and nothing beyond the last") {
  for (const int64_t count : counts)
    for (const bool shifted : {false, true})
      for (const auto add : {add_01, add_02}) {
        CAPTURE(count);
        CAPTURE(shifted);
        const Tensor x = random_tensor({count + 1}, 1), y = random_tensor({count + 1}, 2);
        Tensor want = x.copy();
        for (int64_t i = 0; i < count; ++i) want.flat(i) += y.flat(i);
        OnDevice in(x, shifted), more(y, shifted);
        add(in.data(), more.data(), count, nullptr);
        CHECK(difference(in.get(), values(want), std::vector<double>(size_t(count) + 1, 0.0)) == "");
      }
}

TEST_CASE("relu puts 0 for what is below it and keeps a NaN") {
  for (const int64_t count : counts)
    for (const bool shifted : {false, true})
      for (const auto relu : {relu_01, relu_02}) {
        CAPTURE(count);
        CAPTURE(shifted);
        Tensor x = random_tensor({count + 1}, 1);
        x.flat(count) = -1;
        Tensor want = x.copy();
        for (int64_t i = 0; i < count; ++i) want.flat(i) = std::max(x.flat(i), 0.0f);
        OnDevice in(x, shifted);
        relu(in.data(), count, nullptr);
        CHECK(difference(in.get(), values(want), std::vector<double>(size_t(count) + 1, 0.0)) == "");
      }
  for (const auto relu : {relu_01, relu_02}) {
    const float infinity = std::numeric_limits<float>::infinity();
    Tensor x({6});
    const float special[] = {std::numeric_limits<float>::quiet_NaN(), -infinity, infinity, -0.0f, -1e-45f, 1e-45f};
    std::copy(std::begin(special), std::end(special), x.data());
    OnDevice in(x, false);
    relu(in.data(), 6, nullptr);
    const Tensor got = in.get();
    CHECK(std::isnan(got(0)));
    CHECK(got(1) == 0);
    CHECK(got(2) == infinity);
    CHECK(got(3) == 0);
    CHECK(got(4) == 0);
    CHECK(got(5) == 1e-45f);
  }
}

TEST_SUITE_END();
