/// What operations give in double, and how far f32 may be from it: for the tests of every device.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rungs/ops/ops.hpp"
#include "support.hpp"

namespace rungs::test {

inline constexpr double u = unit_roundoff;

/// What a float sum of n products may be off by: 8·√n·u·‖products‖₂. The rounding errors of a sum are about as likely
/// up as down, so they grow as a random walk; 8 leaves room for its tail and for any order of summation.
inline double sum_error(double n, double norm) { return 8 * std::sqrt(n) * u * norm; }

/// The same for n products of one sign and of similar size. The partial sums are then 1/n, 2/n, ... of the whole, each
/// rounding is u/√3 of one of them in the mean, and the root of their squares √(n/3)·u/√3·sum = √n·u·sum/3.
inline double sum_error_of_one_sign(double n, double sum) { return 8 * std::sqrt(n) * u * sum / 3; }

struct Expected {
  std::vector<double> value, tolerance;
};

inline Expected linear_in_double(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Expected e;
  const int64_t C = x.cols();
  for (int64_t n = 0; n < x.rows(); ++n)
    for (int64_t k = 0; k < weight.rows(); ++k) {
      double sum = bias ? bias.value(k) : 0, squares = sum * sum;
      for (int64_t c = 0; c < C; ++c) {
        const double product = x.value(n * C + c) * weight.value(k * C + c);
        sum += product, squares += product * product;
      }
      e.value.push_back(sum);
      e.tolerance.push_back(sum_error(double(C + 1), std::sqrt(squares)));
    }
  return e;
}

/// The tensor in another dtype: bf16 by rounding, f16 by hand-picked bits that stand for numbers near one.
inline Tensor in_16_bits(const Tensor& x, DType dtype) {
  Tensor out(x.shape(), dtype);
  for (int64_t i = 0; i < x.count(); ++i) {
    if (dtype == DType::bf16) out.data<bf16>()[i] = to_bf16(x.data()[i]);
    if (dtype == DType::f16) out.data<f16>()[i] = f16{uint16_t((i * 7919) % 0x7800 | (i % 3 == 0 ? 0x8000 : 0))};
  }
  return out;
}

/// A weight that is read alone is random blocks: any bytes are one, but for their scales.
inline Tensor random_weight(const Shape& shape, unsigned seed, DType dtype) {
  if (elements_of_block(dtype) < large_block_elements) return converted(random_tensor(shape, seed), dtype);
  Tensor weight = Tensor::uninitialised(shape, dtype);
  std::mt19937 random(seed);
  std::generate_n(static_cast<uint8_t*>(weight.raw()), weight.bytes(), [&] { return uint8_t(random()); });
  const auto scale = [&] { return to_f16(float(random() % 1000 + 1) * 1e-6f); };
  for (int64_t i = 0; i < shape.count() / large_block_elements; ++i)
    if (dtype == DType::q4_k)
      weight.data<q4_k>()[i].scale = scale(), weight.data<q4_k>()[i].min_scale = scale();
    else
      weight.data<q6_k>()[i].scale = scale();
  return weight;
}

/// First-order errors of each step: the mean is a sum over C; the variance is one of squares, whose relative error
/// halves in the root; 6 u for the root's reciprocal, which is off by 2 units in the last place on a GPU (rsqrtf, the
/// CUDA C++ Programming Guide) and rounded, and for the division before, and two roundings. The sum with the bias may
/// use all of its rounding, so it has room for two.
inline Expected layer_norm_in_double(const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  Expected e;
  const int64_t C = x.cols();
  for (int64_t n = 0; n < x.rows(); ++n) {
    double sum = 0, squares = 0, deviation = 0;
    for (int64_t c = 0; c < C; ++c) sum += x.value(n * C + c), squares += std::pow(x.value(n * C + c), 2);
    const double mean = sum / double(C);
    for (int64_t c = 0; c < C; ++c) {
      const double d = x.value(n * C + c) - mean;
      deviation += d * d;
    }
    const double spread = deviation / double(C) + double(epsilon), scale = 1 / std::sqrt(spread);
    const double mean_error = sum_error(double(C), std::sqrt(squares)) / double(C) + u * std::fabs(mean);
    const double spread_error =
        (sum_error_of_one_sign(double(C), deviation) / double(C) + mean_error * mean_error) / spread;
    for (int64_t c = 0; c < C; ++c) {
      const double x_c = x.value(n * C + c), out = (x_c - mean) * scale * weight.value(c);
      e.value.push_back(out + bias.value(c));
      e.tolerance.push_back(std::fabs(weight.value(c)) * scale * (mean_error + u * std::fabs(x_c - mean)) +
                            std::fabs(out) * (spread_error / 2 + 8 * u) + 2 * u * std::fabs(e.value.back()));
    }
  }
  return e;
}

/// The mean of squares is a sum, whose relative error halves in the root. 6 u for that and two roundings as in
/// layer_norm_in_double.
inline Expected rms_norm_in_double(const Tensor& x, const Tensor& weight, float epsilon) {
  Expected e;
  const int64_t C = x.cols();
  for (int64_t n = 0; n < x.rows(); ++n) {
    double squares = 0;
    for (int64_t c = 0; c < C; ++c) squares += std::pow(x.value(n * C + c), 2);
    const double spread = squares / double(C) + double(epsilon);
    const double spread_error = sum_error_of_one_sign(double(C), squares) / double(C) / spread;
    for (int64_t c = 0; c < C; ++c) {
      e.value.push_back(x.value(n * C + c) / std::sqrt(spread) * weight.value(c));
      e.tolerance.push_back(std::fabs(e.value.back()) * (spread_error / 2 + 8 * u));
    }
  }
  return e;
}

/// What an exponential of a number in [-distance, 0] may be off by, relative: a GPU's __expf by 2 + 1.173 · distance
/// units in the last place (the CUDA C++ Programming Guide), each up to 2 u. The rounding of the number is in it.
inline double exp_error(double distance) { return (4 + 2.346 * distance) * u; }

/// The error of a score moves a weight by as much, relative, and so does that of the exponential. A soft cap c makes an
/// error of a score no larger, and adds the roundings of c · tanh.
inline Expected attend_in_double(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const AttentionOptions& options = {}) {
  Expected e;
  const int64_t T = q.rows(), S = k.rows(), D = q.cols();
  const double scale = options.scale > 0 ? double(options.scale) : 1 / std::sqrt(double(D)), cap = options.soft_cap;
  for (int64_t t = 0; t < T; ++t) {
    const int64_t position = S - T + t, end = options.causal ? position + 1 : S;
    const int64_t begin = options.window > 0 ? std::max<int64_t>(0, position + 1 - options.window) : 0;
    const int64_t visible = end - begin;
    std::vector<double> weight(static_cast<size_t>(visible));
    double largest = -std::numeric_limits<double>::infinity(), smallest = -largest, score_error = 0;
    for (int64_t s = 0; s < visible; ++s) {
      double score = 0, squares = 0;
      for (int64_t d = 0; d < D; ++d) {
        const double product = q.value(t * D + d) * k.value((begin + s) * D + d) * scale;
        score += product, squares += product * product;
      }
      if (cap > 0) score = cap * std::tanh(score / cap);
      weight[size_t(s)] = score;
      largest = std::max(largest, score), smallest = std::min(smallest, score);
      score_error =
          std::max(score_error, sum_error(double(D), std::sqrt(squares)) + 3 * u * std::fabs(score) + 8 * u * cap);
    }
    double sum = 0;
    for (double& w : weight) sum += w = std::exp(w - largest);
    const double weight_error =
        2 * (score_error + exp_error(largest - smallest)) + (8 * std::sqrt(double(visible)) + 4) * u;  // relative
    for (int64_t d = 0; d < D; ++d) {
      double out = 0, size = 0, squares = 0;
      for (int64_t s = 0; s < visible; ++s) {
        const double product = weight[size_t(s)] / sum * v.value((begin + s) * D + d);
        out += product, size += std::fabs(product), squares += product * product;
      }
      e.value.push_back(out);
      e.tolerance.push_back(size * weight_error + sum_error(double(visible), std::sqrt(squares)));
    }
  }
  return e;
}

/// Head h of (N, H, D), alone.
inline Tensor head_of(const Tensor& x, int64_t h) {
  Tensor head({x.dim(0), x.dim(2)});
  for (int64_t n = 0; n < x.dim(0); ++n)
    for (int64_t d = 0; d < x.dim(2); ++d) head(n, d) = x(n, h, d);
  return head;
}

}  // namespace rungs::test
