// Lesson 06 written by people who never saw the list of known mistakes: right versions, rewritten known mistakes, and
// wrong versions that the list does not have. What the grader must say of each stands in naming_test.cpp.
#include <algorithm>
#include <cmath>
#include <vector>

#include "02_embedding/lesson.hpp"
#include "04_feed_forward/lesson.hpp"
#include "05_attention/lesson.hpp"
#include "pieces.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/tap.hpp"

using namespace rungs;

namespace {

float dot(const Tensor& a, int64_t row, const Tensor& b, int64_t other) {
  float sum = 0;
  for (int64_t d = 0; d < a.dim(1); ++d) sum += a(row, d) * b(other, d);
  return sum;
}

/// A right version, in parts that the others replace.
struct Right {
  virtual ~Right() = default;

  virtual float score(const Tensor& q, const Tensor& k, int64_t t, int64_t s) {
    return dot(q, t, k, s) / std::sqrt(float(q.dim(1)));
  }
  /// From the scores of query t against every key to its weights.
  virtual void weigh(std::vector<float>& row, int64_t t) {
    for (size_t s = size_t(t) + 1; s < row.size(); ++s) row[s] = -INFINITY;
    normalize(row);
  }
  static void normalize(std::vector<float>& row) {
    float max = -INFINITY, sum = 0;
    for (const float x : row) max = std::max(max, x);
    for (float& x : row) sum += x = std::exp(x - max);
    for (float& x : row) x = x / sum;
  }
  virtual void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
    const int64_t T = q.dim(0);
    Tensor scores({T, T}), weights({T, T});
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = 0; s < T; ++s) scores(t, s) = score(q, k, t, s);
    tap("scores", scores);
    for (int64_t t = 0; t < T; ++t) {
      std::vector<float> row(scores.data() + t * T, scores.data() + (t + 1) * T);
      weigh(row, t);
      std::copy(row.begin(), row.end(), weights.data() + t * T);
    }
    tap("weights", weights);
    matmul(out, weights, v);
  }
  virtual void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w) {
    const int64_t T = x.dim(0), D = w.k.weight.dim(0);
    Tensor q({T, D}), k({T, D}), v({T, D}), read({T, D});
    ops.linear(q, x, w.q.weight, w.q.bias), ops.linear(k, x, w.k.weight, w.k.bias);
    ops.linear(v, x, w.v.weight, w.v.bias);
    tap("q", q), tap("k", k), tap("v", v);
    sdpa(read, q, k, v);
    tap("attn_out", read);
    ops.linear(out, read, w.o.weight, w.o.bias);
  }
  virtual void layer(Ops& ops, Tensor& x, const LayerWeights& l, float epsilon) {
    attention_part(ops, x, l, epsilon);
    lesson_04::feed_forward(ops, x, l, epsilon);
  }
  virtual void attention_part(Ops& ops, Tensor& x, const LayerWeights& l, float epsilon) {
    Tensor normed(x.shape()), a(x.shape());
    ops.layer_norm(normed, x, l.attention_norm.weight, l.attention_norm.bias, epsilon);
    attention(ops, a, normed, l.attention);
    tap("attention", a);
    for (int64_t i = 0; i < x.count(); ++i) x.flat(i) += a.flat(i);
  }
  virtual void embed(Tensor& x, const Tensor& tokens, const DecoderWeights& w) {
    lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding);
  }
  virtual void finish(Ops& ops, Tensor& logits, const Tensor& x, const DecoderWeights& w) {
    Tensor normed(x.shape());
    ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
    tap("normed", normed);
    ops.linear(logits, normed, w.output.weight, w.output.bias);
  }
  virtual void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
    Tensor x({tokens.count(), w.token_embedding.dim(1)});
    embed(x, tokens, w);
    tap("x", x);
    for (size_t i = 0; i < w.layers.size(); ++i) {
      const TapLayer tap_layer{int64_t(i)};
      layer(ops, x, w.layers[i], w.epsilon);
      tap("x", x);
    }
    finish(ops, logits, x, w);
  }
};

// ---- right ----

struct RightMinusBillion : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = 0; s < row.size(); ++s) row[s] += int64_t(s) > t ? -1e9f : 0;
    normalize(row);
  }
};

struct RightOnlyThePast : Right {
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override {
    for (int64_t t = 0; t < q.dim(0); ++t) {  // no scores of the future, no taps
      std::vector<float> past;
      for (int64_t s = 0; s <= t; ++s) past.push_back(score(q, k, t, s));
      normalize(past);
      for (int64_t d = 0; d < v.dim(1); ++d) {
        double sum = 0;
        for (int64_t s = 0; s <= t; ++s) sum += double(past[size_t(s)]) * v(s, d);
        out(t, d) = float(sum);
      }
    }
  }
};

struct RightOneKeyAtATime : Right {  // a running maximum, no row of scores at all
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override {
    for (int64_t t = 0; t < q.dim(0); ++t) {
      float max = -INFINITY, sum = 0;
      std::vector<float> mixed(size_t(v.dim(1)), 0.0f);
      for (int64_t s = 0; s <= t; ++s) {
        const float x = score(q, k, t, s), old = max;
        max = std::max(max, x);
        const float keep = std::exp(old - max), weight = std::exp(x - max);
        sum = sum * keep + weight;
        for (size_t d = 0; d < mixed.size(); ++d) mixed[d] = mixed[d] * keep + weight * v(s, int64_t(d));
      }
      for (size_t d = 0; d < mixed.size(); ++d) out(t, int64_t(d)) = mixed[d] / sum;
    }
  }
};

struct RightScaledQueries : Right {
  float score(const Tensor& q, const Tensor& k, int64_t t, int64_t s) override {
    float sum = 0;
    const float scale = std::pow(float(q.dim(1)), -0.5f);
    for (int64_t d = 0; d < q.dim(1); ++d) sum += q(t, d) * scale * k(s, d);
    return sum;
  }
};

struct RightMaskedTap : Right {  // the scores are tapped after the mask: the tap differs, the answer does not
  float score(const Tensor& q, const Tensor& k, int64_t t, int64_t s) override {
    return s > t ? -INFINITY : Right::score(q, k, t, s);
  }
};

// ---- known mistakes in other words ----

struct KnownNoMask : Right {
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override { lesson_05::sdpa(out, q, k, v); }
};

struct KnownBlindToItself : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = 0; s < row.size(); ++s)
      if (int64_t(s) >= t) row[s] = -INFINITY;
    normalize(row);
  }
};

struct KnownBlindToItselfBillion : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = size_t(t); s < row.size(); ++s) row[s] = -1e9f;
    normalize(row);
  }
};

struct KnownSeesNext : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    const size_t seen = std::min(size_t(t) + 2, row.size());
    std::vector<float> past(row.begin(), row.begin() + std::ptrdiff_t(seen));
    normalize(past);
    std::fill(row.begin(), row.end(), 0.0f);
    std::copy(past.begin(), past.end(), row.begin());
  }
};

struct KnownUpperTriangle : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = 0; s < row.size(); ++s) row[s] += int64_t(s) < t ? -1e9f : 0;
    normalize(row);
  }
};

struct KnownTimesZero : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = 0; s < row.size(); ++s) row[s] *= float(int64_t(s) <= t);
    normalize(row);
  }
};

struct KnownWeightsCut : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    normalize(row);
    std::fill(row.begin() + t + 1, row.end(), 0.0f);
  }
};

struct KnownNoSoftmax : Right {
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override {
    for (int64_t t = 0; t < q.dim(0); ++t)
      for (int64_t d = 0; d < v.dim(1); ++d) {
        out(t, d) = 0;
        for (int64_t s = 0; s <= t; ++s) out(t, d) += score(q, k, t, s) * v(s, d);
      }
  }
};

struct KnownRawStream : Right {
  void attention_part(Ops& ops, Tensor& x, const LayerWeights& l, float) override {
    Tensor a(x.shape());
    attention(ops, a, x, l.attention);
    ops.add(x, a);
  }
};

struct KnownOneNormForBoth : Right {
  void attention_part(Ops& ops, Tensor& x, const LayerWeights& l, float epsilon) override {
    Tensor normed(x.shape()), a(x.shape());
    ops.layer_norm(normed, x, l.ffn_norm.weight, l.ffn_norm.bias, epsilon);
    attention(ops, a, normed, l.attention);
    ops.add(x, a);
  }
};

struct KnownNoResidual : Right {
  void attention_part(Ops& ops, Tensor& x, const LayerWeights& l, float epsilon) override {
    Tensor normed(x.shape());
    ops.layer_norm(normed, x, l.attention_norm.weight, l.attention_norm.bias, epsilon);
    attention(ops, x, normed, l.attention);
  }
};

struct KnownForgotten : Right {
  void attention_part(Ops&, Tensor&, const LayerWeights&, float) override {}
};

struct KnownFeedForwardLeftOut : Right {
  void layer(Ops& ops, Tensor& x, const LayerWeights& l, float epsilon) override { attention_part(ops, x, l, epsilon); }
};

struct KnownFinalNormLeftOut : Right {
  void finish(Ops& ops, Tensor& logits, const Tensor& x, const DecoderWeights& w) override {
    ops.linear(logits, x, w.output.weight, w.output.bias);
  }
};

// ---- wrong, and not in the list ----

struct FreeMinusTen : Right {  // the future keeps a little weight
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = size_t(t) + 1; s < row.size(); ++s) row[s] -= 10;
    normalize(row);
  }
};

struct FreeSeesTwoAhead : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = size_t(t) + 3; s < row.size(); ++s) row[s] = -INFINITY;
    normalize(row);
  }
};

struct FreeOnlyItself : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    std::fill(row.begin(), row.end(), 0.0f);
    row[size_t(t)] = 1;
  }
};

struct FreeWindow : Right {  // the last two tokens and no more
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = 0; s < row.size(); ++s)
      if (int64_t(s) > t || int64_t(s) + 1 < t) row[s] = -INFINITY;
    normalize(row);
  }
};

struct FreeFirstKeyHidden : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = 0; s < row.size(); ++s)
      if (int64_t(s) > t || (s == 0 && t > 0)) row[s] = -INFINITY;
    normalize(row);
  }
};

struct FreeFlipped : Right {  // the mask counts from the end
  void weigh(std::vector<float>& row, int64_t t) override {
    const int64_t seen = int64_t(row.size()) - t;
    for (size_t s = size_t(seen); s < row.size(); ++s) row[s] = -INFINITY;
    normalize(row);
  }
};

struct FreeAverage : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    for (size_t s = 0; s < row.size(); ++s) row[s] = int64_t(s) <= t ? 1 / float(t + 1) : 0;
  }
};

struct FreeMaximumOfTheFuture : Right {  // right but where the future has the far larger score: 0 / 0
  void weigh(std::vector<float>& row, int64_t t) override {
    float max = -INFINITY, sum = 0;
    for (const float x : row) max = std::max(max, x);
    for (size_t s = 0; s < row.size(); ++s) sum += row[s] = int64_t(s) <= t ? std::exp(row[s] - max) : 0;
    for (float& x : row) x /= sum;
  }
};

struct FreeSoftmaxTwice : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    Right::weigh(row, t);
    Right::weigh(row, t);
  }
};

struct FreeScaledTwice : Right {
  void weigh(std::vector<float>& row, int64_t t) override {
    for (float& x : row) x /= 2;
    Right::weigh(row, t);
  }
};

struct FreeSumCarriedOver : Right {
  float sum = 0;
  void weigh(std::vector<float>& row, int64_t t) override {
    if (t == 0) sum = 0;
    for (size_t s = 0; s < row.size(); ++s) sum += row[s] = int64_t(s) <= t ? std::exp(row[s]) : 0;
    for (float& x : row) x /= sum;
  }
};

struct FreeAddedTwice : Right {
  void attention_part(Ops& ops, Tensor& x, const LayerWeights& l, float epsilon) override {
    const Tensor before = x.copy();
    Right::attention_part(ops, x, l, epsilon);
    ops.add(x, before);
  }
};

struct FreePositionsFromOne : Right {
  void embed(Tensor& x, const Tensor& tokens, const DecoderWeights& w) override {
    const int64_t context = w.position_embedding.dim(0);
    for (int64_t t = 0; t < x.dim(0); ++t)
      for (int64_t c = 0; c < x.dim(1); ++c)
        x(t, c) = w.token_embedding(tokens.at<int32_t>(t), c) + w.position_embedding((t + 1) % context, c);
  }
};

struct FreeLastLayerLeftOut : Right {
  size_t done = 0;
  void layer(Ops& ops, Tensor& x, const LayerWeights& l, float epsilon) override {
    if (done++ == 0) Right::layer(ops, x, l, epsilon);
  }
};

struct FreeTwoMistakes : Right {  // no mask, and no final norm
  void weigh(std::vector<float>& row, int64_t) override { normalize(row); }
  void finish(Ops& ops, Tensor& logits, const Tensor& x, const DecoderWeights& w) override {
    ops.linear(logits, x, w.output.weight, w.output.bias);
  }
};

template <class V>
void run(const CaseInput& in, Recording& rec) {
  const auto attend = [](Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) { V().sdpa(out, q, k, v); };
  const auto attention = [](Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w) {
    V().attention(ops, out, x, w);
  };
  const auto forward = [](Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
    V().decoder_forward(ops, logits, tokens, w);
  };
  lesson_06::run(in, {attend, attention, forward}, rec);
}
}  // namespace

std::span<const Implementation> rungs::implementations() {
#define VERSION(type) \
  { #type, run < type> }
  static const Implementation list[] = {
      VERSION(RightMinusBillion),
      VERSION(RightOnlyThePast),
      VERSION(RightOneKeyAtATime),
      VERSION(RightScaledQueries),
      VERSION(RightMaskedTap),
      VERSION(KnownNoMask),
      VERSION(KnownBlindToItself),
      VERSION(KnownBlindToItselfBillion),
      VERSION(KnownSeesNext),
      VERSION(KnownUpperTriangle),
      VERSION(KnownTimesZero),
      VERSION(KnownWeightsCut),
      VERSION(KnownNoSoftmax),
      VERSION(KnownRawStream),
      VERSION(KnownOneNormForBoth),
      VERSION(KnownNoResidual),
      VERSION(KnownForgotten),
      VERSION(KnownFeedForwardLeftOut),
      VERSION(KnownFinalNormLeftOut),
      VERSION(FreeMinusTen),
      VERSION(FreeSeesTwoAhead),
      VERSION(FreeOnlyItself),
      VERSION(FreeWindow),
      VERSION(FreeFirstKeyHidden),
      VERSION(FreeFlipped),
      VERSION(FreeAverage),
      VERSION(FreeMaximumOfTheFuture),
      VERSION(FreeSoftmaxTwice),
      VERSION(FreeScaledTwice),
      VERSION(FreeSumCarriedOver),
      VERSION(FreeAddedTwice),
      VERSION(FreePositionsFromOne),
      VERSION(FreeLastLayerLeftOut),
      VERSION(FreeTwoMistakes),
  };
#undef VERSION
  return list;
}
