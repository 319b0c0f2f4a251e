// Lesson 05 written by people who never saw the list of known mistakes: right versions, rewritten known mistakes, and
// wrong versions that the list does not have. What the grader must say of each stands in naming_test.cpp.
#include <algorithm>
#include <cmath>
#include <vector>

#include "pieces.hpp"
#include "rungs/tensor/tap.hpp"

using namespace rungs;

namespace {

using Row = std::vector<float>;

/// out = x · weightᵀ + bias in plain loops
void project(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  for (int64_t t = 0; t < x.dim(0); ++t)
    for (int64_t o = 0; o < weight.dim(0); ++o) {
      float sum = bias ? bias(o) : 0;
      for (int64_t c = 0; c < x.dim(1); ++c) sum += x(t, c) * weight(o, c);
      out(t, o) = sum;
    }
}

/// A right version, in parts that the others replace.
struct Right {
  virtual ~Right() = default;

  virtual void row(Row& x) {
    const float max = *std::max_element(x.begin(), x.end());
    float sum = 0;
    for (float& e : x) e = std::exp(e - max), sum += e;
    for (float& e : x) e = e / sum;
  }
  virtual void softmax(Tensor& x) {
    for (int64_t t = 0; t < x.dim(0); ++t) {
      float* begin = x.data() + t * x.dim(1);
      Row values(begin, begin + x.dim(1));
      row(values);
      std::copy(values.begin(), values.end(), begin);
    }
  }
  virtual float scaled(float product, int64_t D, int64_t) { return product / std::sqrt(float(D)); }
  virtual void mix(Tensor& out, const Tensor& weights, const Tensor& k, const Tensor& v) {
    (void)k;
    for (int64_t t = 0; t < out.dim(0); ++t)
      for (int64_t d = 0; d < out.dim(1); ++d) {
        float sum = 0;
        for (int64_t s = 0; s < v.dim(0); ++s) sum += weights(t, s) * v(s, d);
        out(t, d) = sum;
      }
  }
  virtual void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
    const int64_t T = q.dim(0), S = k.dim(0), D = q.dim(1);
    Tensor scores({T, S});
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = 0; s < S; ++s) {
        float product = 0;
        for (int64_t d = 0; d < D; ++d) product += q(t, d) * k(s, d);
        scores(t, s) = scaled(product, D, S);
      }
    tap("scores", scores);
    softmax(scores);
    tap("weights", scores);
    mix(out, scores, k, v);
  }
  virtual void attention(Ops&, Tensor& out, const Tensor& x, const AttentionWeights& w) {
    const int64_t T = x.dim(0), D = w.q.weight.dim(0);
    Tensor q({T, D}), k({T, D}), v({T, D}), read({T, D});
    project(q, x, w.q.weight, w.q.bias), project(k, x, w.k.weight, w.k.bias), project(v, x, w.v.weight, w.v.bias);
    tap("q", q), tap("k", k), tap("v", v);
    sdpa(read, q, k, v);
    tap("attn_out", read);
    project(out, read, w.o.weight, w.o.bias);
  }
};

// ---- right ----

struct RightLogSumExp : Right {
  void row(Row& x) override {
    const double max = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const float e : x) sum += std::exp(double(e) - max);
    for (float& e : x) e = float(std::exp(double(e) - max - std::log(sum)));
  }
};

struct RightInDouble : Right {
  void mix(Tensor& out, const Tensor& weights, const Tensor&, const Tensor& v) override {
    for (int64_t t = 0; t < out.dim(0); ++t)
      for (int64_t d = 0; d < out.dim(1); ++d) {
        double sum = 0;
        for (int64_t s = v.dim(0); s-- > 0;) sum += double(weights(t, s)) * v(s, d);
        out(t, d) = float(sum);
      }
  }
};

struct RightDividedLast : Right {  // exponentials mix the values, and the sum divides once
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override {
    for (int64_t t = 0; t < q.dim(0); ++t) {
      Row x;
      for (int64_t s = 0; s < k.dim(0); ++s) {
        float product = 0;
        for (int64_t d = 0; d < q.dim(1); ++d) product += q(t, d) * k(s, d);
        x.push_back(scaled(product, q.dim(1), 0));
      }
      const float max = *std::max_element(x.begin(), x.end());
      for (int64_t d = 0; d < v.dim(1); ++d) {
        float sum = 0, all = 0;
        for (int64_t s = 0; s < v.dim(0); ++s) {
          const float e = std::exp(x[size_t(s)] - max);
          sum += e * v(s, d), all += e;
        }
        out(t, d) = sum / all;
      }
    }
  }
};

// ---- known mistakes in other words ----

struct KnownOverflow : Right {
  void row(Row& x) override {
    float sum = 0;
    for (const float e : x) sum += std::exp(e);
    for (float& e : x) e = std::exp(e) / sum;
  }
};

struct KnownColumns : Right {
  void softmax(Tensor& x) override {
    for (int64_t s = 0; s < x.dim(1); ++s) {
      Row column;
      for (int64_t t = 0; t < x.dim(0); ++t) column.push_back(x(t, s));
      row(column);
      for (int64_t t = 0; t < x.dim(0); ++t) x(t, s) = column[size_t(t)];
    }
  }
};

struct KnownWholeMatrix : Right {
  void softmax(Tensor& x) override {
    Row all(x.data(), x.data() + x.count());
    row(all);
    std::copy(all.begin(), all.end(), x.data());
  }
};

struct KnownOnlyExponentials : Right {
  void row(Row& x) override {
    const float max = *std::max_element(x.begin(), x.end());
    std::transform(x.begin(), x.end(), x.begin(), [max](float e) { return std::exp(e - max); });
  }
};

struct KnownLogarithms : Right {
  void row(Row& x) override {
    const float max = *std::max_element(x.begin(), x.end());
    float sum = 0;
    for (const float e : x) sum += std::exp(e - max);
    for (float& e : x) e = e - max - std::log(sum);
  }
};

struct KnownUnscaled : Right {
  float scaled(float product, int64_t, int64_t) override { return product; }
};

struct KnownOverD : Right {
  float scaled(float product, int64_t D, int64_t) override { return product * (1.0f / float(D)); }
};

struct KnownOverRootOfKeys : Right {
  float scaled(float product, int64_t, int64_t S) override { return product * std::pow(float(S), -0.5f); }
};

struct KnownTimesRoot : Right {
  float scaled(float product, int64_t D, int64_t) override { return product * std::sqrt(float(D)); }
};

struct KnownKeysMixed : Right {
  void mix(Tensor& out, const Tensor& weights, const Tensor& k, const Tensor&) override {
    Right::mix(out, weights, k, k);
  }
};

struct KnownNoSoftmax : Right {
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override {
    Tensor scores({q.dim(0), k.dim(0)});
    project(scores, q, k, Tensor());
    for (int64_t i = 0; i < scores.count(); ++i) scores.flat(i) *= 1 / std::sqrt(float(q.dim(1)));
    mix(out, scores, k, v);
  }
};

struct KnownPlacesChanged : Right {
  void attention(Ops&, Tensor& out, const Tensor& x, const AttentionWeights& w) override {
    const Shape shape{x.dim(0), w.q.weight.dim(0)};
    Tensor a(shape), b(shape), v(shape), read(shape);
    project(a, x, w.k.weight, w.k.bias), project(b, x, w.q.weight, w.q.bias), project(v, x, w.v.weight, w.v.bias);
    sdpa(read, a, b, v);
    project(out, read, w.o.weight, w.o.bias);
  }
};

struct KnownValuesOfKeys : Right {
  void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w) override {
    const Shape shape{x.dim(0), w.q.weight.dim(0)};
    Tensor q(shape), kv(shape), read(shape);
    ops.linear(q, x, w.q.weight, w.q.bias), ops.linear(kv, x, w.k.weight, w.k.bias);
    sdpa(read, q, kv, kv);
    ops.linear(out, read, w.o.weight, w.o.bias);
  }
};

struct KnownOutputBiasForgotten : Right {
  void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w) override {
    Right::attention(ops, out, x, w);
    for (int64_t t = 0; t < out.dim(0); ++t)
      for (int64_t c = 0; c < out.dim(1); ++c) out(t, c) -= w.o.bias(c);
  }
};

// ---- wrong, and not in the list ----

struct FreeBaseTwo : Right {
  void row(Row& x) override {
    const float max = *std::max_element(x.begin(), x.end());
    float sum = 0;
    for (float& e : x) sum += e = std::exp2(e - max);
    for (float& e : x) e /= sum;
  }
};

struct FreeSumOfTheLastRow : Right {  // the sum is not set to zero for each row
  void softmax(Tensor& x) override {
    float sum = 0;
    for (int64_t t = 0; t < x.dim(0); ++t) {
      float max = -INFINITY;
      for (int64_t s = 0; s < x.dim(1); ++s) max = std::max(max, x(t, s));
      for (int64_t s = 0; s < x.dim(1); ++s) sum += x(t, s) = std::exp(x(t, s) - max);
      for (int64_t s = 0; s < x.dim(1); ++s) x(t, s) /= sum;
    }
  }
};

struct FreeLastElementForgotten : Right {
  void row(Row& x) override {
    const float max = *std::max_element(x.begin(), x.end());
    float sum = 0;
    for (float& e : x) e = std::exp(e - max);
    for (size_t s = 0; s + 1 < x.size(); ++s) sum += x[s];
    for (float& e : x) e /= sum;
  }
};

struct FreeDividedByTheMaximum : Right {
  void row(Row& x) override {
    const float max = *std::max_element(x.begin(), x.end());
    float sum = 0;
    for (float& e : x) sum += e = std::exp(e / max);
    for (float& e : x) e /= sum;
  }
};

struct FreeSumOfOneMore : Right {
  void row(Row& x) override {
    const float max = *std::max_element(x.begin(), x.end());
    float sum = 1;
    for (float& e : x) sum += e = std::exp(e - max);
    for (float& e : x) e /= sum;
  }
};

struct FreeTemperature : Right {
  float scaled(float product, int64_t D, int64_t) override { return product / std::sqrt(2.0f * float(D)); }
};

struct FreeEightForever : Right {  // √64, right for one width alone
  float scaled(float product, int64_t, int64_t) override { return product / 8; }
};

struct FreeMaskTooEarly : Right {
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override {
    for (int64_t t = 0; t < q.dim(0); ++t) {
      const int64_t seen = std::min(t + 1, k.dim(0));
      Tensor one = out.view_rows(t, 1);
      Right::sdpa(one, q.view_rows(t, 1), k.view_rows(0, seen), v.view_rows(0, seen));
    }
  }
};

struct FreeWeightsTurned : Right {
  void mix(Tensor& out, const Tensor& weights, const Tensor&, const Tensor& v) override {
    const int64_t T = weights.dim(0), S = weights.dim(1);
    for (int64_t t = 0; t < T; ++t)
      for (int64_t d = 0; d < out.dim(1); ++d) {
        out(t, d) = 0;
        for (int64_t s = 0; s < S; ++s) out(t, d) += weights(s % T, t % S) * v(s, d);
      }
  }
};

struct FreeNearest : Right {  // only the value of the best key
  void row(Row& x) override {
    const auto best = std::max_element(x.begin(), x.end()) - x.begin();
    std::fill(x.begin(), x.end(), 0.0f);
    x[size_t(best)] = 1;
  }
};

struct FreeResidualInside : Right {
  void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w) override {
    Right::attention(ops, out, x, w);
    ops.add(out, x);
  }
};

struct FreeQueriesOfValues : Right {
  void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w) override {
    const Shape shape{x.dim(0), w.q.weight.dim(0)};
    Tensor k(shape), v(shape), read(shape);
    ops.linear(k, x, w.k.weight, w.k.bias), ops.linear(v, x, w.v.weight, w.v.bias);
    sdpa(read, v, k, v);
    ops.linear(out, read, w.o.weight, w.o.bias);
  }
};

struct FreeHalfUnwritten : Right {
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override {
    Tensor all(out.shape());
    Right::sdpa(all, q, k, v);
    for (int64_t t = 0; t < out.dim(0); t += 2)
      for (int64_t d = 0; d < out.dim(1); ++d) out(t, d) = all(t, d);
  }
};

struct FreeTwoMistakes : Right {  // not scaled, and the keys mixed
  float scaled(float product, int64_t, int64_t) override { return product; }
  void mix(Tensor& out, const Tensor& weights, const Tensor& k, const Tensor&) override {
    Right::mix(out, weights, k, k);
  }
};

template <class V>
void run(const CaseInput& in, Recording& rec) {
  const auto softmax = [](Tensor& x) { V().softmax(x); };
  const auto attend = [](Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) { V().sdpa(out, q, k, v); };
  const auto attention = [](Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w) {
    V().attention(ops, out, x, w);
  };
  lesson_05::run(in, {softmax, attend, attention}, rec);
}

}  // namespace

std::span<const Implementation> rungs::implementations() {
#define VERSION(type) \
  { #type, run < type> }
  static const Implementation list[] = {
      VERSION(Right),
      VERSION(RightLogSumExp),
      VERSION(RightInDouble),
      VERSION(RightDividedLast),
      VERSION(KnownOverflow),
      VERSION(KnownColumns),
      VERSION(KnownWholeMatrix),
      VERSION(KnownOnlyExponentials),
      VERSION(KnownLogarithms),
      VERSION(KnownUnscaled),
      VERSION(KnownOverD),
      VERSION(KnownOverRootOfKeys),
      VERSION(KnownTimesRoot),
      VERSION(KnownKeysMixed),
      VERSION(KnownNoSoftmax),
      VERSION(KnownPlacesChanged),
      VERSION(KnownValuesOfKeys),
      VERSION(KnownOutputBiasForgotten),
      VERSION(FreeBaseTwo),
      VERSION(FreeSumOfTheLastRow),
      VERSION(FreeLastElementForgotten),
      VERSION(FreeDividedByTheMaximum),
      VERSION(FreeSumOfOneMore),
      VERSION(FreeTemperature),
      VERSION(FreeEightForever),
      VERSION(FreeMaskTooEarly),
      VERSION(FreeWeightsTurned),
      VERSION(FreeNearest),
      VERSION(FreeResidualInside),
      VERSION(FreeQueriesOfValues),
      VERSION(FreeHalfUnwritten),
      VERSION(FreeTwoMistakes),
  };
#undef VERSION
  return list;
}
