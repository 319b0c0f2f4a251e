#include "kernels/softmax/softmax.hpp"

#include <limits>

#include "rows.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

namespace {

using Softmax = void (*)(float*, const float*, int, int, cudaStream_t);
constexpr Softmax rungs_of_softmax[] = {softmax_01, softmax_02, softmax_03};

struct Expected {
  std::vector<double> value, tolerance;
};

/// In double. The tolerance is 8 times the f32 rounding of the formula: with d = x - max the difference, and 2 to the
/// power of d · log2(e), are off by some |d| · u of the exponential, and so is the sum by the mean of that; adding C
/// terms is off by some √C · u, and exponential and quotient by 4 u. An exponential below 2⁻¹²⁶ may become 0.
Expected softmax_in_double(const Tensor& x) {
  Expected e;
  const int64_t C = x.cols();
  for (int64_t n = 0; n < x.rows(); ++n) {
    const float* row = x.data() + n * C;
    const double largest = *std::max_element(row, row + C);
    double sum = 0, mean_distance = 0;
    for (int64_t c = 0; c < C; ++c) sum += std::exp(row[c] - largest);
    for (int64_t c = 0; c < C; ++c)
      if (std::isfinite(row[c])) mean_distance += std::exp(row[c] - largest) / sum * (largest - row[c]);
    for (int64_t c = 0; c < C; ++c) {
      const double p = std::exp(row[c] - largest) / sum, d = p > 0 ? largest - row[c] : 0;
      e.value.push_back(p);
      e.tolerance.push_back(8 * u * p * (d + mean_distance + random_walk(double(C)) + 4) + 0x1p-126);
    }
  }
  return e;
}

void check_softmax(const Tensor& x, bool shifted) {
  const int N = int(x.rows()), C = int(x.cols());
  CAPTURE(N);
  CAPTURE(C);
  CAPTURE(shifted);
  const Expected e = softmax_in_double(x);
  int rung = 0;
  for (const Softmax softmax : rungs_of_softmax) {
    ++rung;
    CAPTURE(rung);
    OnDevice out(x.shape(), shifted), in(x, shifted);
    softmax(out.data(), in.data(), N, C, nullptr);
    CHECK(difference(out.get(), e.value, e.tolerance) == "");
    softmax(in.data(), in.data(), N, C, nullptr);
    CHECK(difference(in.get(), e.value, e.tolerance) == "");
  }
}

Tensor scaled(Tensor x, float scale) {
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) *= scale;
  return x;
}

}  // namespace

TEST_CASE("softmax equals its formula at every size") {
  for (const Size size : row_sizes)
    for (const bool shifted : {false, true}) check_softmax(random_tensor({size.N, size.C}, unsigned(size.C)), shifted);
}

TEST_CASE("softmax of scores far from 0") {
  for (const float scale : {20.0f, 1e3f, 1e30f}) check_softmax(scaled(random_tensor({3, 133}, 1), scale), false);
  Tensor x = random_tensor({4, 260}, 2);
  for (int c = 0; c < 260; ++c) {
    x(0, c) += 100;                       // exp of each overflows
    x(1, c) -= 200;                       // exp of each is 0
    x(2, c) = float(c) / 2;               // a new maximum at every step
    x(3, c) = c == 259 ? 3e38f : -3e38f;  // and the differences overflow
  }
  check_softmax(x, false);
}

TEST_CASE("softmax of equal scores is even, and a score of -inf has no share") {
  const float none = -std::numeric_limits<float>::infinity();
  Tensor x({5, 70});
  for (int c = 0; c < 70; ++c) {
    x(0, c) = 0;
    x(1, c) = -1e30f;
    x(2, c) = c < 3 ? 1.0f : none;
    x(3, c) = c < 69 ? none : -5.0f;
    x(4, c) = c % 2 == 0 ? none : float(c);
  }
  check_softmax(x, false);
}

TEST_CASE("softmax of no rows does nothing") {
  for (const Softmax softmax : rungs_of_softmax) softmax(nullptr, nullptr, 0, 5, nullptr);
}

TEST_SUITE_END();
