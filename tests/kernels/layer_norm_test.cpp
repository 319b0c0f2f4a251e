#include "kernels/layer_norm/layer_norm.hpp"

#include "rows.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

namespace {

/// All rungs against double. The tolerance is 8 times the f32 rounding of the formula: the sum of C terms is off by
/// some √C · u of the sum of their sizes, hence the mean by e = √C · u · mean(|x|) and each difference by e and its own
/// rounding; the mean square of the differences is off by some √C · u of itself and by e², which matters where the
/// variance is small; half of that goes into its root, and a few roundings follow.
void check_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon, bool shifted) {
  const int N = int(x.rows()), C = int(x.cols());
  CAPTURE(N);
  CAPTURE(C);
  CAPTURE(shifted);
  std::vector<double> want, tolerance;
  for (int n = 0; n < N; ++n) {
    double sum = 0, sizes = 0, squares = 0;
    for (int c = 0; c < C; ++c) sum += x(n, c), sizes += std::abs(x(n, c));
    const double mean = sum / C, mean_error = random_walk(C) * u * sizes / C;
    for (int c = 0; c < C; ++c) squares += (x(n, c) - mean) * (x(n, c) - mean);
    const double variance = squares / C, scale = 1 / std::sqrt(variance + double(epsilon));
    const double scale_error = (random_walk(C) * u + mean_error * mean_error * scale * scale) / 2 + 4 * u;
    for (int c = 0; c < C; ++c) {
      const double normed = (x(n, c) - mean) * scale * weight(c);
      want.push_back(normed + bias(c));
      tolerance.push_back(8 * ((mean_error + u * std::abs(x(n, c) - mean)) * scale * std::abs(weight(c)) +
                               scale_error * std::abs(normed) + u * std::abs(want.back())));
    }
  }
  OnDevice w(weight, shifted), b(bias, shifted);
  int rung = 0;
  for (const auto layer_norm : {layer_norm_01, layer_norm_02}) {
    ++rung;
    CAPTURE(rung);
    OnDevice out(x.shape(), shifted), in(x, shifted);
    layer_norm(out.data(), in.data(), w.data(), b.data(), N, C, epsilon, nullptr);
    CHECK(difference(out.get(), want, tolerance) == "");
    layer_norm(in.data(), in.data(), w.data(), b.data(), N, C, epsilon, nullptr);
    CHECK(difference(in.get(), want, tolerance) == "");
  }
}

}  // namespace

TEST_CASE("layer_norm equals its formula at every size") {
  for (const Size size : row_sizes)
    for (const bool shifted : {false, true})
      check_layer_norm(random_tensor({size.N, size.C}, unsigned(size.C)), random_tensor({size.C}, 2),
                       random_tensor({size.C}, 3), 1e-5f, shifted);
}

TEST_CASE("layer_norm of rows far from 0, nearly equal, and equal") {
  Tensor x = random_tensor({5, 131}, 1);
  for (int c = 0; c < 131; ++c) {
    x(0, c) += 1000;                // mean(x²) - mean² would have no digit left
    x(1, c) = 1 + 3e-3f * x(1, c);  // a variance near epsilon
    x(2, c) = 0;
    x(3, c) = 7;
    x(4, c) *= 1e17f;
  }
  check_layer_norm(x, random_tensor({131}, 2), random_tensor({131}, 3), 1e-5f, false);
}

TEST_SUITE_END();
