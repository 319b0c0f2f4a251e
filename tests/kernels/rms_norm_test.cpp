#include "kernels/rms_norm/rms_norm.hpp"

#include "rows.hpp"
#include "rungs/ops/floats.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

namespace {

struct Expected {
  std::vector<double> value, tolerance;
};

/// In double. The tolerance is 8 times the f32 rounding of the formula: the sum of C squares is off by some √C · u of
/// itself, the root of it by half of that, and a few roundings of u each follow. `x_error` is what each x is off
/// already.
Expected norm_in_double(const Tensor& x, const Tensor& weight, float epsilon) {
  Expected e;
  const int64_t C = x.cols();
  for (int64_t n = 0; n < x.rows(); ++n) {
    double squares = 0;
    for (int64_t c = 0; c < C; ++c) squares += x.value(n * C + c) * x.value(n * C + c);
    const double scale = 1 / std::sqrt(squares / double(C) + double(epsilon));
    for (int64_t c = 0; c < C; ++c) {
      e.value.push_back(x.value(n * C + c) * scale * weight.value(c));
      e.tolerance.push_back(8 * u * (random_walk(double(C)) / 2 + 4) * std::abs(e.value.back()));
    }
  }
  return e;
}

/// The sum of the two parts of each element; also checks that the first is the sum rounded. parts: (N, 2C).
Tensor sum_of_parts(const Tensor& parts) {
  const int64_t C = parts.cols() / 2;
  Tensor sum({parts.rows(), C});
  int64_t wrong = 0;
  for (int64_t i = 0; i < sum.count(); ++i) {
    const bf16* row = parts.data<bf16>() + i / C * 2 * C;
    sum.flat(i) = to_float(row[i % C]) + to_float(row[C + i % C]);
    if (!(std::abs(to_float(row[C + i % C])) <= 0x1p-8 * std::abs(to_float(row[i % C])))) ++wrong;
  }
  CHECK(wrong == 0);
  return sum;
}

/// A result in two parts is off by 2⁻¹⁷ of itself more.
std::vector<double> in_parts(const Expected& e) {
  std::vector<double> tolerance = e.tolerance;
  for (size_t i = 0; i < tolerance.size(); ++i) tolerance[i] += 0x1p-17 * std::abs(e.value[i]);
  return tolerance;
}

template <class W>
void check_rungs(const Tensor& x, const Tensor& weight, float epsilon, bool shifted) {
  using Norm = void (*)(float*, const float*, const W*, int, int, float, cudaStream_t);
  const int N = int(x.rows()), C = int(x.cols());
  const Expected e = norm_in_double(x, weight, epsilon);
  OnDevice w(weight, shifted);
  int rung = 0;
  for (const Norm norm : {Norm(rms_norm_01<W>), Norm(rms_norm_02<W>), Norm(rms_norm_03<W>)}) {
    ++rung;
    CAPTURE(rung);
    OnDevice out(x.shape(), shifted), in(x, shifted);
    norm(out.data(), in.data(), w.template data<W>(), N, C, epsilon, nullptr);
    CHECK(difference(out.get(), e.value, e.tolerance) == "");
    norm(in.data(), in.data(), w.template data<W>(), N, C, epsilon, nullptr);
    CHECK(difference(in.get(), e.value, e.tolerance) == "");
  }
}

template <class W>
void check_split(const Tensor& x, const Tensor& weight, float epsilon, bool shifted) {
  const int N = int(x.rows()), C = int(x.cols());
  const Expected e = norm_in_double(x, weight, epsilon);
  OnDevice w(weight, shifted), in(x, shifted), parts({N, 2 * int64_t(C)}, shifted, DType::bf16);
  rms_norm_split(parts.data<bf16>(), in.data(), w.template data<W>(), N, C, epsilon, 2, nullptr);
  const Tensor both = parts.get();
  CHECK(difference(sum_of_parts(both), e.value, in_parts(e)) == "");

  OnDevice rounded({N, C}, shifted, DType::bf16);
  rms_norm_split(rounded.data<bf16>(), in.data(), w.template data<W>(), N, C, epsilon, 1, nullptr);
  const Tensor alone = rounded.get();
  int64_t other = 0;
  for (int64_t i = 0; i < alone.count(); ++i)
    other += alone.data<bf16>()[i].bits != both.data<bf16>()[i / C * 2 * C + i % C].bits;
  CHECK(other == 0);
}

}  // namespace

TEST_CASE("rms_norm equals its formula at every size, alone and fused, for weights of every dtype") {
  for (const Size size : row_sizes)
    for (const bool shifted : {false, true})
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        const int N = size.N, C = size.C;
        if (dtype != DType::f32 && N * C > 5000) continue;
        CAPTURE(N);
        CAPTURE(C);
        CAPTURE(shifted);
        CAPTURE(name_of(dtype));
        const Tensor x = random_tensor({N, C}, unsigned(C));
        with_floats(random_weights({C}, 3, dtype), [&](const auto* w) {
          using W = std::remove_const_t<std::remove_pointer_t<decltype(w)>>;
          const ConstTensor weight = Tensor::view_of(w, {C}, dtype);
          check_rungs<W>(x, weight, 1e-5f, shifted);
          check_split<W>(x, weight, 1e-5f, shifted);
        });
      }
}

TEST_CASE("rms_norm where epsilon decides, and of rows of zeros and of large numbers") {
  Tensor x = random_tensor({4, 132}, 1);
  for (int c = 0; c < 132; ++c) {
    x(0, c) *= 3e-3f;  // a mean square near epsilon
    x(1, c) = 0;
    x(2, c) *= 1e17f;
    x(3, c) = 1e-25f;  // whose square is 0 in f32
  }
  check_rungs<float>(x, random_tensor({132}, 2), 1e-5f, false);
}

TEST_SUITE_END();
