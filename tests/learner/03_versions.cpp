// Lesson 03 written by people who never saw the list of known mistakes. What the grader must say of each stands in
// naming_test.cpp.
#include <cmath>

#include "02_embedding/lesson.hpp"
#include "pieces.hpp"

using namespace rungs;

namespace {

/// A right version, in parts that the others replace. No taps.
struct Right {
  virtual ~Right() = default;

  virtual double variance(const float* x, int64_t n, double mean) {
    double sum = 0;
    for (int64_t c = 0; c < n; ++c) sum += (x[c] - mean) * (x[c] - mean);
    return sum / double(n);
  }
  virtual double scale(double variance, double epsilon) { return std::pow(variance + epsilon, -0.5); }
  virtual float last(double distance, double scale, float weight, float bias) {
    return float(distance * scale * weight + bias);
  }
  virtual void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
    const int64_t C = x.dim(1);
    for (int64_t t = 0; t < x.dim(0); ++t) {
      const float* row = x.data() + t * C;
      double mean = 0;
      for (int64_t c = 0; c < C; ++c) mean += row[c];
      mean /= double(C);
      const double by = scale(variance(row, C, mean), epsilon);
      for (int64_t c = 0; c < C; ++c) out(t, c) = last(row[c] - mean, by, weight(c), bias(c));
    }
  }
  void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
    Tensor x({tokens.count(), w.token_embedding.dim(1)}), normed(x.shape());
    lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding);
    layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
    ops.linear(logits, normed, w.output.weight, w.output.bias);
  }
};

struct RightTwoPasses : Right {  // Welford's running mean and sum of squares
  double variance(const float* x, int64_t n, double) override {
    double mean = 0, squares = 0;
    for (int64_t c = 0; c < n; ++c) {
      const double off = x[c] - mean;
      mean += off / double(c + 1);
      squares += off * (x[c] - mean);
    }
    return squares / double(n);
  }
};

// ---- known mistakes in other words ----

struct KnownSample : Right {
  double variance(const float* x, int64_t n, double mean) override {
    return Right::variance(x, n, mean) * double(n) / double(n - 1);
  }
};

struct KnownEpsilonOutside : Right {
  double scale(double variance, double epsilon) override { return 1 / (std::sqrt(variance) + epsilon); }
};

struct KnownBiasForgotten : Right {
  float last(double distance, double scale, float weight, float) override { return float(distance * scale) * weight; }
};

struct KnownByVariance : Right {
  double scale(double variance, double epsilon) override { return 1 / (variance + epsilon); }
};

struct KnownOnePlus : Right {
  float last(double distance, double scale, float weight, float bias) override {
    const float normed = float(distance * scale);
    return normed + normed * weight + bias;
  }
};

// ---- wrong, and not in the list ----

struct FreeDistance : Right {  // the mean distance in place of its square
  double scale(double, double) override { return mean_distance > 0 ? 1 / mean_distance : 0; }
  double variance(const float* x, int64_t n, double mean) override {
    mean_distance = 0;
    for (int64_t c = 0; c < n; ++c) mean_distance += std::fabs(x[c] - mean) / double(n);
    return 0;
  }
  double mean_distance = 0;
};

struct KnownWeightSwapped : Right {
  float last(double distance, double scale, float weight, float bias) override {
    return float(distance * scale * bias + weight);
  }
};

struct FreeFixedEpsilon : Right {
  double scale(double variance, double) override { return 1 / std::sqrt(variance + 1e-3); }
};

struct FreeDifferenceOfSquares : Right {  // in float: all is lost where the mean is large
  double variance(const float* x, int64_t n, double mean) override {
    float squares = 0;
    for (int64_t c = 0; c < n; ++c) squares += x[c] * x[c];
    return squares / float(n) - float(mean) * float(mean);
  }
};

template <class V>
void run(const CaseInput& in, Recording& rec) {
  const auto norm = [](Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
    V().layer_norm(out, x, weight, bias, epsilon);
  };
  const auto forward = [](Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
    V().decoder_forward(ops, logits, tokens, w);
  };
  lesson_03::run(in, {norm, forward}, rec);
}

}  // namespace

std::span<const Implementation> rungs::implementations() {
#define VERSION(type) \
  { #type, run < type> }
  static const Implementation list[] = {
      VERSION(Right),
      VERSION(RightTwoPasses),
      VERSION(KnownSample),
      VERSION(KnownEpsilonOutside),
      VERSION(KnownBiasForgotten),
      VERSION(KnownByVariance),
      VERSION(KnownOnePlus),
      VERSION(FreeDistance),
      VERSION(KnownWeightSwapped),
      VERSION(FreeFixedEpsilon),
      VERSION(FreeDifferenceOfSquares),
  };
#undef VERSION
  return list;
}
