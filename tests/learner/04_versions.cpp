// Lesson 04 written by people who never saw the list of known mistakes. What the grader must say of each stands in
// naming_test.cpp.
#include <algorithm>
#include <cmath>

#include "02_embedding/lesson.hpp"
#include "pieces.hpp"

using namespace rungs;

namespace {

/// A right version, in parts that the others replace. No taps.
struct Right {
  virtual ~Right() = default;

  virtual float bend(float x) { return std::max(x, 0.0f); }
  void relu(Tensor& x) {
    std::transform(x.data(), x.data() + x.count(), x.data(), [this](float e) { return bend(e); });
  }
  virtual void feed_forward(Ops& ops, Tensor& x, const LayerWeights& w, float epsilon) {
    Tensor normed(x.shape()), wide({x.dim(0), w.up.weight.dim(0)}), narrow(x.shape());
    ops.layer_norm(normed, x, w.ffn_norm.weight, w.ffn_norm.bias, epsilon);
    ops.linear(wide, normed, w.up.weight, w.up.bias);
    relu(wide);
    ops.linear(narrow, wide, w.down.weight, w.down.bias);
    join(ops, x, normed, narrow);
  }
  virtual void join(Ops&, Tensor& x, const Tensor& normed, const Tensor& narrow) {
    (void)normed;
    for (int64_t t = 0; t < x.dim(0); ++t)
      for (int64_t c = 0; c < x.dim(1); ++c) x(t, c) += narrow(t, c);
  }
  void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
    Tensor x({tokens.count(), w.token_embedding.dim(1)}), normed(x.shape());
    lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding);
    for (const LayerWeights& l : w.layers) feed_forward(ops, x, l, w.epsilon);
    ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
    ops.linear(logits, normed, w.output.weight, w.output.bias);
  }
};

// ---- known mistakes in other words ----

struct KnownPositive : Right {
  float bend(float x) override { return std::fabs(x); }
};

struct KnownMinimum : Right {
  float bend(float x) override { return std::min(x, 0.0f); }
};

struct KnownReplaced : Right {
  void join(Ops&, Tensor& x, const Tensor&, const Tensor& narrow) override {
    std::copy_n(narrow.data(), x.count(), x.data());
  }
};

struct KnownOnTheNorm : Right {
  void join(Ops&, Tensor& x, const Tensor& normed, const Tensor& narrow) override {
    for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = normed.flat(i) + narrow.flat(i);
  }
};

// ---- wrong, and not in the list ----

struct FreeSmooth : Right {
  float bend(float x) override { return x / (1 + std::exp(-x)); }
};

struct FreeCapped : Right {
  float bend(float x) override { return std::clamp(x, 0.0f, 1.0f); }
};

struct FreeHalf : Right {
  void join(Ops&, Tensor& x, const Tensor&, const Tensor& narrow) override {
    for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = (x.flat(i) + narrow.flat(i)) / 2;
  }
};

struct FreeSubtracted : Right {
  void join(Ops&, Tensor& x, const Tensor&, const Tensor& narrow) override {
    for (int64_t i = 0; i < x.count(); ++i) x.flat(i) -= narrow.flat(i);
  }
};

template <class V>
void run(const CaseInput& in, Recording& rec) {
  const auto relu = [](Tensor& x) { V().relu(x); };
  const auto feed = [](Ops& ops, Tensor& x, const LayerWeights& w, float epsilon) {
    V().feed_forward(ops, x, w, epsilon);
  };
  const auto forward = [](Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
    V().decoder_forward(ops, logits, tokens, w);
  };
  lesson_04::run(in, {relu, feed, forward}, rec);
}

}  // namespace

std::span<const Implementation> rungs::implementations() {
#define VERSION(type) \
  { #type, run < type> }
  static const Implementation list[] = {
      VERSION(Right),         VERSION(KnownPositive),  VERSION(KnownMinimum),
      VERSION(KnownReplaced), VERSION(KnownOnTheNorm), VERSION(FreeSmooth),
      VERSION(FreeCapped),    VERSION(FreeHalf),       VERSION(FreeSubtracted),
  };
#undef VERSION
  return list;
}
