// Lesson 09 written by people who never saw the list of known mistakes: right versions, rewritten known mistakes, and
// wrong versions that the list does not have. What the grader must say of each stands in naming_test.cpp.
#include <cmath>
#include <vector>

#include "02_embedding/lesson.hpp"
#include "04_feed_forward/lesson.hpp"
#include "08_kv_cache/lesson.hpp"
#include "pieces.hpp"
#include "rungs/tensor/tap.hpp"

using namespace rungs;

namespace {

/// A right version, in parts that the others replace.
struct Right {
  virtual ~Right() = default;

  virtual float element(const Tensor& x, int64_t n, int64_t h, int64_t d) { return x(n, h, d); }
  virtual float score(const Tensor& q, const Tensor& k, int64_t h, int64_t t, int64_t s) {
    double sum = 0;
    for (int64_t d = 0; d < q.dim(2); ++d) sum += double(element(q, t, h, d)) * element(k, s, h, d);
    return float(sum / scale(q));
  }
  virtual double scale(const Tensor& q) { return std::sqrt(double(q.dim(2))); }
  virtual void weigh(Tensor& w) {  // (H, T, S), scores become weights
    for (int64_t h = 0; h < w.dim(0); ++h)
      for (int64_t t = 0; t < w.dim(1); ++t) {
        const int64_t seen = w.dim(2) - w.dim(1) + t + 1;
        double sum = 0, max = -INFINITY;
        for (int64_t s = 0; s < seen; ++s) max = std::max(max, double(w(h, t, s)));
        for (int64_t s = 0; s < seen; ++s) sum += std::exp(w(h, t, s) - max);
        for (int64_t s = 0; s < w.dim(2); ++s) w(h, t, s) = s < seen ? float(std::exp(w(h, t, s) - max) / sum) : 0;
      }
  }
  virtual void put(Tensor& out, int64_t t, int64_t h, int64_t d, float x) { out(t, h, d) = x; }
  virtual float value(const Tensor& v, int64_t s, int64_t h, int64_t d) { return element(v, s, h, d); }
  virtual void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
    const int64_t T = q.dim(0), H = q.dim(1), S = k.dim(0);
    Tensor scores({H, T, S});
    for (int64_t i = 0; i < H * T * S; ++i) scores.flat(i) = score(q, k, i / (T * S), i / S % T, i % S);
    tap("scores", scores);
    weigh(scores);
    tap("weights", scores);
    for (int64_t t = 0; t < T; ++t)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t d = 0; d < v.dim(2); ++d) {
          double sum = 0;
          for (int64_t s = 0; s < S; ++s) sum += double(scores(h, t, s)) * value(v, s, h, d);
          put(out, t, h, d, float(sum));
        }
  }
  virtual Tensor split_heads(Tensor& x, int64_t heads) {
    if (x.dim(1) % heads) throw ShapeError("the heads do not divide the columns");
    Tensor y({x.dim(0), heads, x.dim(1) / heads});
    for (int64_t n = 0; n < x.dim(0); ++n)
      for (int64_t c = 0; c < x.dim(1); ++c) y(n, c / y.dim(2), c % y.dim(2)) = x(n, c);
    return y;
  }
  virtual int64_t column(int64_t h, int64_t d, int64_t, int64_t D) { return h * D + d; }
  virtual void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads,
                         LayerCache& cache, int64_t start) {
    const int64_t T = x.dim(0), width = w.q.weight.dim(0), D = width / heads;
    Tensor rows({T, width}), merged({T, width});
    ops.linear(rows, x, w.q.weight, w.q.bias);
    const Tensor q = split_heads(rows, heads);
    tap("q", q);
    for (const bool keys : {true, false}) {
      ops.linear(rows, x, keys ? w.k.weight : w.v.weight, keys ? w.k.bias : w.v.bias);
      const Tensor apart = split_heads(rows, heads);
      tap(keys ? "k" : "v", apart);
      Tensor kept = (keys ? cache.k : cache.v).view_rows(start, T);
      ops.copy(kept, apart);
    }
    Tensor read({T, heads, D});
    sdpa(read, q, cache.k.view_rows(0, start + T), cache.v.view_rows(0, start + T));
    tap("attn_out", read);
    for (int64_t t = 0; t < T; ++t)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t d = 0; d < D; ++d) merged(t, column(h, d, heads, D)) = read(t, h, d);
    ops.linear(out, merged, w.o.weight, w.o.bias);
  }
  void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                       int64_t start) {
    const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
    Tensor x({T, C}), normed({T, C}), a({T, C});
    lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding.view_rows(start, T));
    tap("x", x);
    for (size_t i = 0; i < w.layers.size(); ++i) {
      const TapLayer tap_layer{int64_t(i)};
      const LayerWeights& l = w.layers[i];
      ops.layer_norm(normed, x, l.attention_norm.weight, l.attention_norm.bias, w.epsilon);
      attention(ops, a, normed, l.attention, w.num_heads, cache.layers[i], start);
      tap("attention", a);
      ops.add(x, a);
      lesson_04::feed_forward(ops, x, l, w.epsilon);
      tap("x", x);
    }
    ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
    ops.linear(logits, normed, w.output.weight, w.output.bias);
  }
};

// ---- right ----

struct RightLessonEight : Right {  // one head after the other through lesson 8, whose taps have two dimensions
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) override {
    for (int64_t h = 0; h < q.dim(1); ++h) {
      const auto part = [&](const Tensor& x) {
        Tensor y({x.dim(0), x.dim(2)});
        for (int64_t i = 0; i < y.count(); ++i) y.flat(i) = x(i / x.dim(2), h, i % x.dim(2));
        return y;
      };
      Tensor read({q.dim(0), q.dim(2)});
      lesson_08::sdpa(read, part(q), part(k), part(v));
      for (int64_t i = 0; i < read.count(); ++i) out(i / q.dim(2), h, i % q.dim(2)) = read.flat(i);
    }
  }
};

// ---- known mistakes in other words ----

struct KnownScaleOfTheModel : Right {
  double scale(const Tensor& q) override { return std::sqrt(double(q.count() / q.dim(0))); }
};

struct KnownScaleOfTheHeads : Right {
  double scale(const Tensor& q) override { return std::sqrt(double(q.dim(1))); }
};

struct KnownUnscaled : Right {
  double scale(const Tensor&) override { return 1; }
};

struct KnownStridedMerge : Right {
  int64_t column(int64_t h, int64_t d, int64_t H, int64_t) override { return d * H + h; }
};

struct KnownStridedSplit : Right {
  Tensor split_heads(Tensor& x, int64_t heads) override {
    Tensor y = Right::split_heads(x, heads);
    for (int64_t n = 0; n < x.dim(0); ++n)
      for (int64_t c = 0; c < x.dim(1); ++c) y(n, c % heads, c / heads) = x(n, c);
    return y;
  }
};

struct KnownTransposedView : Right {  // view(H, N, D), and only then transposed
  Tensor split_heads(Tensor& x, int64_t heads) override {
    Tensor y = Right::split_heads(x, heads);
    const int64_t N = x.dim(0), D = y.dim(2);
    for (int64_t i = 0; i < x.count(); ++i) y(i / D % N, i / (N * D), i % D) = x.flat(i);
    return y;
  }
};

struct KnownOneSoftmax : Right {
  void weigh(Tensor& w) override {
    const int64_t H = w.dim(0), T = w.dim(1), S = w.dim(2);
    for (int64_t t = 0; t < T; ++t) {
      double sum = 0, max = -INFINITY;
      for (int64_t i = 0; i < H * S; ++i)
        if (i % S <= S - T + t) max = std::max(max, double(w(i / S, t, i % S)));
      for (int64_t i = 0; i < H * S; ++i) sum += i % S <= S - T + t ? std::exp(w(i / S, t, i % S) - max) : 0;
      for (int64_t i = 0; i < H * S; ++i) {
        float& x = w(i / S, t, i % S);
        x = i % S <= S - T + t ? float(std::exp(x - max) / sum) : 0;
      }
    }
  }
};

struct KnownFirstHeadsKeys : Right {
  float score(const Tensor& q, const Tensor& k, int64_t h, int64_t t, int64_t s) override {
    double sum = 0;
    for (int64_t d = 0; d < q.dim(2); ++d) sum += double(q(t, h, d)) * k(s, 0, d);
    return float(sum / scale(q));
  }
};

struct KnownWholeRows : Right {
  float score(const Tensor& q, const Tensor& k, int64_t, int64_t t, int64_t s) override {
    double sum = 0;
    for (int64_t h = 0; h < q.dim(1); ++h) sum += double(Right::score(q, k, h, t, s));
    return float(sum);
  }
};

struct KnownHeadAfterHead : Right {
  void put(Tensor& out, int64_t t, int64_t h, int64_t d, float x) override {
    out.data()[(h * out.dim(0) + t) * out.dim(2) + d] = x;
  }
};

// ---- wrong, and not in the list ----

struct FreeHeadsReversed : Right {
  int64_t column(int64_t h, int64_t d, int64_t H, int64_t D) override { return (H - 1 - h) * D + d; }
};

struct FreeNextHeadsValues : Right {
  float value(const Tensor& v, int64_t s, int64_t h, int64_t d) override { return v(s, (h + 1) % v.dim(1), d); }
};

struct FreeAverage : Right {
  void weigh(Tensor& w) override {
    for (int64_t i = 0; i < w.count(); ++i) w.flat(i) = 1 / float(w.dim(2));
  }
};

template <class V>
void run(const CaseInput& in, Recording& rec) {
  const auto split_heads = [](Tensor& x, int64_t heads) { return V().split_heads(x, heads); };
  const auto attend = [](Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) { V().sdpa(out, q, k, v); };
  const auto attention = [](Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads,
                            LayerCache& cache, int64_t start) { V().attention(ops, out, x, w, heads, cache, start); };
  const auto forward = [](Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                          int64_t start) { V().decoder_forward(ops, logits, tokens, w, cache, start); };
  lesson_09::run(in, {split_heads, attend, attention, forward}, rec);
}

}  // namespace

std::span<const Implementation> rungs::implementations() {
#define VERSION(type) \
  { #type, run < type> }
  static const Implementation list[] = {
      VERSION(Right),
      VERSION(RightLessonEight),
      VERSION(KnownScaleOfTheModel),
      VERSION(KnownScaleOfTheHeads),
      VERSION(KnownUnscaled),
      VERSION(KnownStridedMerge),
      VERSION(KnownStridedSplit),
      VERSION(KnownTransposedView),
      VERSION(KnownOneSoftmax),
      VERSION(KnownFirstHeadsKeys),
      VERSION(KnownWholeRows),
      VERSION(KnownHeadAfterHead),
      VERSION(FreeHeadsReversed),
      VERSION(FreeNextHeadsValues),
      VERSION(FreeAverage),
  };
#undef VERSION
  return list;
}
