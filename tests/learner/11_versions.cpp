// Lesson 11 written by people who never saw the list of known mistakes: right versions, rewritten known mistakes, and
// wrong versions that the list does not have. What the grader must say of each stands in naming_test.cpp.
#include <cmath>
#include <complex>
#include <vector>

#include "04_feed_forward/lesson.hpp"
#include "10_grouped_query/lesson.hpp"
#include "pieces.hpp"
#include "rungs/tensor/tap.hpp"

using namespace rungs;

namespace {

using Turn = std::complex<float>;

/// A right version, in parts that the others replace.
struct Right {
  virtual ~Right() = default;

  virtual double speed(double theta, int64_t i, int64_t D) {
    return std::exp(-2.0 * double(i) / double(D) * std::log(theta));
  }
  virtual void rope_table(Tensor& cos, Tensor& sin, double theta) {
    for (int64_t i = 0; i < cos.dim(1); ++i) {
      const double each = speed(theta, i, 2 * cos.dim(1));
      for (int64_t p = 0; p < cos.dim(0); ++p) {
        const auto turn = std::polar(1.0, double(p) * each);
        cos(p, i) = float(turn.real()), sin(p, i) = float(turn.imag());
      }
    }
  }
  virtual int64_t position(int64_t start, int64_t t) { return start + t; }
  virtual int64_t first(int64_t i, int64_t) { return i; }
  virtual int64_t second(int64_t i, int64_t D) { return i + D / 2; }
  virtual void turn(float& a, float& b, Turn by) {
    const Turn turned = Turn(a, b) * by;
    a = turned.real(), b = turned.imag();
  }
  virtual void apply_rope(Tensor& x, const Tensor& cos, const Tensor& sin, int64_t start) {
    const int64_t H = x.dim(1), D = x.dim(2);
    for (int64_t i = 0; i < D / 2; ++i)
      for (int64_t n = 0; n < x.dim(0) * H; ++n) {
        const int64_t p = position(start, n / H);
        turn(x(n / H, n % H, first(i, D)), x(n / H, n % H, second(i, D)), {cos(p, i), sin(p, i)});
      }
  }
  virtual void place(Tensor& q, Tensor& k, Tensor& v, const RopeTables& r, int64_t start) {
    (void)v;
    apply_rope(q, r.cos, r.sin, start), apply_rope(k, r.cos, r.sin, start);
  }
  void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads, int64_t kv_heads,
                 const RopeTables& rotary, LayerCache& cache, int64_t start) {
    const int64_t T = x.dim(0), D = w.q.weight.dim(0) / heads;
    Tensor q({T, heads, D}), k({T, kv_heads, D}), v({T, kv_heads, D}), read({T, heads, D});
    const auto project = [&](Tensor& to, const LinearWeights& l) {
      Tensor rows = to.reshaped({T, l.weight.dim(0)});
      ops.linear(rows, x, l.weight, l.bias);
    };
    project(q, w.q), project(k, w.k), project(v, w.v);
    place(q, k, v, rotary, start);
    tap("q", q), tap("k", k), tap("v", v);
    Tensor k_rows = cache.k.view_rows(start, T), v_rows = cache.v.view_rows(start, T);
    ops.copy(k_rows, k), ops.copy(v_rows, v);
    lesson_10::sdpa(read, q, cache.k.view_rows(0, start + T), cache.v.view_rows(0, start + T));
    tap("attn_out", read);
    ops.linear(out, read.reshaped({T, heads * D}), w.o.weight, w.o.bias);
  }
  void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                       int64_t start) {
    const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
    Tensor x({T, C}), normed({T, C}), a({T, C});
    for (int64_t t = 0; t < T; ++t)
      for (int64_t c = 0; c < C; ++c) x(t, c) = w.token_embedding(int64_t(tokens.at<int32_t>(t)), c);
    tap("x", x);
    for (size_t i = 0; i < w.layers.size(); ++i) {
      const TapLayer tap_layer{int64_t(i)};
      const LayerWeights& l = w.layers[i];
      ops.layer_norm(normed, x, l.attention_norm.weight, l.attention_norm.bias, w.epsilon);
      attention(ops, a, normed, l.attention, w.num_heads, w.num_kv_heads, w.rotary, cache.layers[i], start);
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

struct RightRotateHalf : Right {  // x * cos + rotate_half(x) * sin, as people know it
  void apply_rope(Tensor& x, const Tensor& cos, const Tensor& sin, int64_t start) override {
    const int64_t H = x.dim(1), D = x.dim(2), half = D / 2;
    const Tensor old = x.copy();
    for (int64_t n = 0; n < x.count() / D; ++n)
      for (int64_t d = 0; d < D; ++d) {
        const float other = d < half ? -old.flat(n * D + d + half) : old.flat(n * D + d - half);
        const int64_t p = start + n / H, i = d % half;
        x.flat(n * D + d) = old.flat(n * D + d) * cos(p, i) + other * sin(p, i);
      }
  }
};

// ---- known mistakes in other words ----

struct KnownNeighbours : Right {
  int64_t first(int64_t i, int64_t) override { return 2 * i; }
  int64_t second(int64_t i, int64_t) override { return 2 * i + 1; }
};

struct KnownConjugate : Right {
  void turn(float& a, float& b, Turn by) override { Right::turn(a, b, std::conj(by)); }
};

struct KnownTwoPluses : Right {
  void turn(float& a, float& b, Turn by) override {
    const float old = a;
    a = old * by.real() + b * by.imag(), b = old * by.imag() + b * by.real();
  }
};

struct KnownInPlace : Right {
  void turn(float& a, float& b, Turn by) override {
    a = a * by.real() - b * by.imag();
    b = a * by.imag() + b * by.real();
  }
};

struct KnownFromZero : Right {
  int64_t position(int64_t, int64_t t) override { return t; }
};

struct KnownStartForAll : Right {
  int64_t position(int64_t start, int64_t) override { return start; }
};

struct KnownOneLate : Right {
  void place(Tensor& q, Tensor& k, Tensor& v, const RopeTables& r, int64_t start) override {
    Right::place(q, k, v, r, start + 1);
  }
};

struct KnownAllThree : Right {
  void place(Tensor& q, Tensor& k, Tensor& v, const RopeTables& r, int64_t start) override {
    Right::place(q, k, v, r, start);
    apply_rope(v, r.cos, r.sin, start);
  }
};

struct KnownOnlyKeys : Right {
  void place(Tensor&, Tensor& k, Tensor&, const RopeTables& r, int64_t start) override {
    apply_rope(k, r.cos, r.sin, start);
  }
};

struct KnownHalfExponent : Right {
  double speed(double theta, int64_t i, int64_t D) override { return std::pow(theta, -double(i) / double(D)); }
};

struct KnownNoMinusInTheExponent : Right {
  double speed(double theta, int64_t i, int64_t D) override { return std::pow(theta, 2.0 * double(i) / double(D)); }
};

struct KnownDegrees : Right {
  double speed(double theta, int64_t i, int64_t D) override {
    return Right::speed(theta, i, D) * 3.14159265358979 / 180;
  }
};

struct KnownFixedTheta : Right {
  double speed(double, int64_t i, int64_t D) override { return Right::speed(10000, i, D); }
};

struct KnownHalfTheHead : Right {
  void turn(float& a, float& b, Turn by) override {
    float keep = b;
    Right::turn(a, keep, by);
  }
};

// ---- wrong, and not in the list ----

struct FreeMirroredPairs : Right {  // the first element with the last
  int64_t second(int64_t i, int64_t D) override { return D - 1 - i; }
};

struct FreeTwiceFromZero : Right {
  void apply_rope(Tensor& x, const Tensor& cos, const Tensor& sin, int64_t start) override {
    (void)start;
    Right::apply_rope(x, cos, sin, 0), Right::apply_rope(x, cos, sin, 0);
  }
};

template <class V>
void run(const CaseInput& in, Recording& rec) {
  const auto rope_table = [](Tensor& cos, Tensor& sin, double theta) { V().rope_table(cos, sin, theta); };
  const auto rotate = [](Tensor& x, const Tensor& cos, const Tensor& sin, int64_t start) {
    V().apply_rope(x, cos, sin, start);
  };
  const auto attention = [](Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads,
                            int64_t kv_heads, const RopeTables& rotary, LayerCache& cache,
                            int64_t start) { V().attention(ops, out, x, w, heads, kv_heads, rotary, cache, start); };
  const auto forward = [](Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                          int64_t start) { V().decoder_forward(ops, logits, tokens, w, cache, start); };
  lesson_11::run(in, {rope_table, rotate, attention, forward}, rec);
}

}  // namespace

std::span<const Implementation> rungs::implementations() {
#define VERSION(type) \
  { #type, run < type> }
  static const Implementation list[] = {
      VERSION(Right),
      VERSION(RightRotateHalf),
      VERSION(KnownNeighbours),
      VERSION(KnownConjugate),
      VERSION(KnownTwoPluses),
      VERSION(KnownInPlace),
      VERSION(KnownFromZero),
      VERSION(KnownStartForAll),
      VERSION(KnownOneLate),
      VERSION(KnownAllThree),
      VERSION(KnownOnlyKeys),
      VERSION(KnownHalfExponent),
      VERSION(KnownNoMinusInTheExponent),
      VERSION(FreeMirroredPairs),
      VERSION(KnownDegrees),
      VERSION(KnownFixedTheta),
      VERSION(FreeTwiceFromZero),
      VERSION(KnownHalfTheHead),
  };
#undef VERSION
  return list;
}
