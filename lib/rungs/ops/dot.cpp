// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/dot.cpp"
#include "rungs/ops/dot.hpp"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "rungs/ops/floats.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<float>;
using Vector = hn::Vec<Lanes>;

static HWY_INLINE int64_t lanes() { return int64_t(hn::Lanes(Lanes())); }

/// The next 2·lanes() elements of a row as f32.
static HWY_INLINE void load_two(Vector& a, Vector& b, const float* w) {
  const Lanes d;
  a = hn::LoadU(d, w), b = hn::LoadU(d, w + lanes());
}

/// The same of bf16, but first those at even places, then those at odd ones: a pair of bf16 is 32 bits, of which the
/// upper half is already the odd one as f32. That takes half the instructions of widening them in order. What comes
/// next is asked for: the processor asks by itself too, but stops at every page.
static HWY_INLINE void load_two(Vector& a, Vector& b, const bf16* w) {
  const Lanes d;
  const hn::RebindToUnsigned<Lanes> bits;
  const auto pairs = hn::LoadU(bits, reinterpret_cast<const uint32_t*>(w));
  hwy::Prefetch(w + 256);
  a = hn::BitCast(d, hn::ShiftLeft<16>(pairs));
  b = hn::BitCast(d, hn::And(pairs, hn::Set(bits, 0xffff0000u)));
}

static HWY_INLINE void load_two(Vector& a, Vector& b, const f16* w) {
  const Lanes d;
  const hn::Rebind<hwy::float16_t, Lanes> half;
  const auto* x = reinterpret_cast<const hwy::float16_t*>(w);
  a = hn::PromoteTo(d, hn::LoadU(half, x)), b = hn::PromoteTo(d, hn::LoadU(half, x + lanes()));
}

/// One sum in two accumulators: an addition waits for the one before it, so there must be several to wait for.
struct Dot {
  Vector a, b;

  template <class W>
  HWY_INLINE void add(const W* w, const float* x) {
    const Lanes d;
    Vector w_a, w_b;
    load_two(w_a, w_b, w);
    a = hn::MulAdd(w_a, hn::LoadU(d, x), a);
    b = hn::MulAdd(w_b, hn::LoadU(d, x + lanes()), b);
  }

  /// The sum, with the elements that fill no two vectors.
  template <class W>
  HWY_INLINE float total(const W* w, const float* x, int64_t rest) const {
    float sum = hn::GetLane(hn::SumOfLanes(Lanes(), hn::Add(a, b)));
    for (int64_t c = 0; c < rest; ++c) sum += value_of(w[c]) * x[c];
    return sum;
  }
};

static HWY_INLINE Dot nothing() { return {hn::Zero(Lanes()), hn::Zero(Lanes())}; }

/// Four sums at a time. Where two pointers are the same, the compiler loads once.
template <class W>
static HWY_INLINE void four_dots(float* out[4], const W* w_0, const W* w_1, const W* w_2, const W* w_3,
                                 const float* x_0, const float* x_1, const float* x_2, const float* x_3, int64_t C) {
  Dot dot_0 = nothing(), dot_1 = nothing(), dot_2 = nothing(), dot_3 = nothing();
  const int64_t step = 2 * lanes(), whole = C / step * step;
  for (int64_t c = 0; c < whole; c += step) {
    dot_0.add(w_0 + c, x_0 + c);
    dot_1.add(w_1 + c, x_1 + c);
    dot_2.add(w_2 + c, x_2 + c);
    dot_3.add(w_3 + c, x_3 + c);
  }
  *out[0] = dot_0.total(w_0 + whole, x_0 + whole, C - whole);
  *out[1] = dot_1.total(w_1 + whole, x_1 + whole, C - whole);
  *out[2] = dot_2.total(w_2 + whole, x_2 + whole, C - whole);
  *out[3] = dot_3.total(w_3 + whole, x_3 + whole, C - whole);
}

template <class W>
static HWY_INLINE void one_dot(float* out, const W* w, const float* x, int64_t C) {
  Dot dot = nothing();
  const int64_t step = 2 * lanes(), whole = C / step * step;
  for (int64_t c = 0; c < whole; c += step) dot.add(w + c, x + c);
  *out = dot.total(w + whole, x + whole, C - whole);
}

/// out[n, k] = x[n] · w[k] for K rows of w and N rows of x. Four quarters of w are read side by side: each is one long
/// stream that the processor sees coming, where short rows would start a stream every time.
template <class W>
static HWY_INLINE void dots(float* out, int64_t out_stride, const float* x, int64_t N, int64_t x_stride, const W* w,
                            int64_t K, int64_t w_stride, int64_t C) {
  const int64_t quarter = K / 4;
  for (int64_t k = 0; k < quarter; ++k) {
    const W *w_0 = w + k * w_stride, *w_1 = w_0 + quarter * w_stride, *w_2 = w_1 + quarter * w_stride,
            *w_3 = w_2 + quarter * w_stride;
    int64_t n = 0;
    for (; n + 2 <= N; n += 2) {
      const float *x_0 = x + n * x_stride, *x_1 = x_0 + x_stride;
      float *out_0 = out + n * out_stride + k, *out_1 = out_0 + out_stride;
      float* first[] = {out_0, out_1, out_0 + quarter, out_1 + quarter};
      four_dots(first, w_0, w_0, w_1, w_1, x_0, x_1, x_0, x_1, C);
      float* second[] = {out_0 + 2 * quarter, out_1 + 2 * quarter, out_0 + 3 * quarter, out_1 + 3 * quarter};
      four_dots(second, w_2, w_2, w_3, w_3, x_0, x_1, x_0, x_1, C);
    }
    if (n < N) {
      const float* x_0 = x + n * x_stride;
      float* out_0 = out + n * out_stride + k;
      float* four[] = {out_0, out_0 + quarter, out_0 + 2 * quarter, out_0 + 3 * quarter};
      four_dots(four, w_0, w_1, w_2, w_3, x_0, x_0, x_0, x_0, C);
    }
  }
  for (int64_t k = 4 * quarter; k < K; ++k)
    for (int64_t n = 0; n < N; ++n) one_dot(out + n * out_stride + k, w + k * w_stride, x + n * x_stride, C);
}

static void dots_f32(float* out, int64_t out_stride, const float* x, int64_t N, int64_t x_stride, const float* w,
                     int64_t K, int64_t w_stride, int64_t C) {
  dots(out, out_stride, x, N, x_stride, w, K, w_stride, C);
}
static void dots_f16(float* out, int64_t out_stride, const float* x, int64_t N, int64_t x_stride, const f16* w,
                     int64_t K, int64_t w_stride, int64_t C) {
  dots(out, out_stride, x, N, x_stride, w, K, w_stride, C);
}
static void dots_bf16(float* out, int64_t out_stride, const float* x, int64_t N, int64_t x_stride, const bf16* w,
                      int64_t K, int64_t w_stride, int64_t C) {
  dots(out, out_stride, x, N, x_stride, w, K, w_stride, C);
}

/// out = x in the order in which load_two gives the elements of bf16.
static void evens_then_odds(float* out, const float* x, int64_t C) {
  const Lanes d;
  const int64_t step = 2 * lanes(), whole = C / step * step;
  for (int64_t c = 0; c < whole; c += step) {
    Vector even, odd;
    hn::LoadInterleaved2(d, x + c, even, odd);
    hn::StoreU(even, d, out + c), hn::StoreU(odd, d, out + c + lanes());
  }
  std::copy(x + whole, x + C, out + whole);
}

/// out += four weights · four rows; where fewer remain, the weights of the others are 0 and their row is any.
static HWY_INLINE void add_rows(float* out, const float* weight, const float* v_0, const float* v_1, const float* v_2,
                                const float* v_3, int64_t D) {
  const Lanes d;
  const int64_t whole = D / lanes() * lanes();
  const Vector weight_0 = hn::Set(d, weight[0]), weight_1 = hn::Set(d, weight[1]);
  const Vector weight_2 = hn::Set(d, weight[2]), weight_3 = hn::Set(d, weight[3]);
  for (int64_t i = 0; i < whole; i += lanes()) {
    Vector sum = hn::MulAdd(weight_0, hn::LoadU(d, v_0 + i), hn::LoadU(d, out + i));
    sum = hn::MulAdd(weight_1, hn::LoadU(d, v_1 + i), sum);
    sum = hn::MulAdd(weight_2, hn::LoadU(d, v_2 + i), sum);
    sum = hn::MulAdd(weight_3, hn::LoadU(d, v_3 + i), sum);
    hn::StoreU(sum, d, out + i);
  }
  for (int64_t i = whole; i < D; ++i)
    out[i] += weight[0] * v_0[i] + weight[1] * v_1[i] + weight[2] * v_2[i] + weight[3] * v_3[i];
}

static void add_sums(const StridedRows<float>& out, const StridedRows<const float>& weights,
                     const StridedRows<const float>& values, int64_t D) {
  for (int64_t s = 0; s < values.count; s += 4) {
    const int64_t left = values.count - s;
    const float* v_0 = values.data + s * values.stride;
    const float *v_1 = left > 1 ? v_0 + values.stride : v_0, *v_2 = left > 2 ? v_1 + values.stride : v_0,
                *v_3 = left > 3 ? v_2 + values.stride : v_0;
    for (int64_t n = 0; n < out.count; ++n) {
      const float* w = weights.data + n * weights.stride + s;
      const float some[] = {w[0], left > 1 ? w[1] : 0, left > 2 ? w[2] : 0, left > 3 ? w[3] : 0};
      add_rows(out.data + n * out.stride, some, v_0, v_1, v_2, v_3, D);
    }
  }
}

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

namespace rungs {

HWY_EXPORT(dots_f32);
HWY_EXPORT(dots_bf16);
HWY_EXPORT(dots_f16);
HWY_EXPORT(evens_then_odds);
HWY_EXPORT(add_sums);

/// x in the order that bf16 wants, in memory of this thread that stays for the next product.
static const float* arranged(const Tensor& x) {
  thread_local std::vector<float> memory;
  if (memory.size() < size_t(x.count())) memory.resize(size_t(x.count()));
  for (int64_t n = 0; n < x.rows(); ++n)
    HWY_DYNAMIC_DISPATCH(evens_then_odds)(memory.data() + n * x.cols(), x.data() + n * x.cols(), x.cols());
  return memory.data();
}

void product_of_few_rows(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  const int64_t N = x.rows(), K = weight.rows(), C = x.cols();
  const auto run = [&](auto dots, const float* rows, const auto* w) {
    dots(out.data() + first, K, rows, N, C, w + first * C, last - first, C, C);
  };
  switch (weight.dtype()) {
    case DType::bf16:
      return run(HWY_DYNAMIC_DISPATCH(dots_bf16), arranged(x), weight.data<bf16>());
    case DType::f16:
      return run(HWY_DYNAMIC_DISPATCH(dots_f16), x.data(), weight.data<f16>());
    default:
      return run(HWY_DYNAMIC_DISPATCH(dots_f32), x.data(), weight.data());
  }
}

void dots_with_rows(const StridedRows<float>& scores, const StridedRows<const float>& x,
                    const StridedRows<const float>& keys, int64_t D) {
  HWY_DYNAMIC_DISPATCH(dots_f32)
  (scores.data, scores.stride, x.data, x.count, x.stride, keys.data, keys.count, keys.stride, D);
}

void add_sums_of_rows(const StridedRows<float>& out, const StridedRows<const float>& weights,
                      const StridedRows<const float>& values, int64_t D) {
  HWY_DYNAMIC_DISPATCH(add_sums)(out, weights, values, D);
}

}  // namespace rungs
#endif
