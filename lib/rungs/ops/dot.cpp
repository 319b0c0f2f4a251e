// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/dot.cpp"
#include "rungs/ops/dot.hpp"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "rungs/ops/blocks_of_x.hpp"
#include "rungs/ops/dot_instructions-inl.hpp"
#include "rungs/ops/floats.hpp"
#include "rungs/ops/lane_sums-inl.hpp"
#include "rungs/ops/processor.hpp"
#include "rungs/ops/quantized_product.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<float>;
using Vector = hn::Vec<Lanes>;

static HWY_INLINE int64_t lanes() { return int64_t(hn::Lanes(Lanes())); }

/// Rows of x whose sums with four rows of w a block holds in registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int widest = 6;  // there are 32
#else
constexpr int widest = 3;
#endif

/// Up to so many rows of x this is the faster way (bench/README.md). With few registers it leaves a third of the
/// multiplications unused, a packed product a fifth, but that packs first: bf16 in half the time, f16 in twice. One row
/// more is a whole number of a packed product's tiles, its best case, so that no row makes a call much slower; or,
/// after 64, it would begin another rows_at_a_time here. Packed sums are the same on all processors, which lesson 8b's
/// training of 128 rows relies on.
static int64_t most_rows(DType weight) {
  const bool in_bf16 = weight == DType::bf16, in_f16 = weight == DType::f16;
  if constexpr (widest > 3) return is_intel() ? (in_bf16 ? 23 : 35) : (in_bf16 ? 47 : 95);
  if (in_bf16) return 11;
  return is_intel() ? (in_f16 ? 23 : 64) : (in_f16 ? 59 : 35);
}

/// Elements of a row that are added up as vectors before their sum goes to the next: of four rows of w and of
/// rows_at_a_time rows of x so many stay in the caches. So do whole rows of x that have no more than `in_cache`
/// elements.
constexpr int64_t chunk = 1024, rows_at_a_time = 64, in_cache = 1 << 17;

/// Bytes of a weight that a core's own caches hold.
constexpr int64_t nearby = 1 << 19;

/// Half p of the next 2·lanes() elements of a row, as f32.
template <int p>
static HWY_INLINE Vector half(const float* w) {
  return hn::LoadU(Lanes(), w + p * lanes());
}

template <int p>
static HWY_INLINE Vector half(const f16* w) {
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM
  const hn::Rebind<hwy::float16_t, Lanes> few;
  return hn::PromoteTo(Lanes(), hn::LoadU(few, reinterpret_cast<const hwy::float16_t*>(w) + p * lanes()));
#else  // as in upcast.cpp: Highway's own way makes a number of an infinity
  HWY_ALIGN float values[hn::MaxLanes(Lanes())];
  for (int64_t i = 0; i < lanes(); ++i) values[i] = value_of(w[p * lanes() + i]);
  return hn::Load(Lanes(), values);
#endif
}

/// The same of bf16, but half 0 are those at even places, half 1 those at odd ones: a pair of bf16 is 32 bits, of which
/// the upper half is already the odd one as f32. That takes half the instructions of widening them in order.
template <int p>
static HWY_INLINE Vector half(const bf16* w) {
  const hn::RebindToUnsigned<Lanes> bits;
  const auto pairs = hn::LoadU(bits, reinterpret_cast<const uint32_t*>(w));
  return hn::BitCast(Lanes(), p == 0 ? hn::ShiftLeft<16>(pairs) : hn::And(pairs, hn::Set(bits, 0xffff0000u)));
}

#if RUNGS_DOT_INSTRUCTIONS
/// bf16 that the processor multiplies in pairs.
struct Bf16InPairs : bf16 {};

/// Beside an x in two parts (upper_and_lower()): "halves" 0 and 1 are both all of them, one for the upper part of x and
/// one for the lower.
struct Bf16OfTwoParts : Bf16InPairs {};
template <int p>
static HWY_INLINE Vector half(const Bf16OfTwoParts* w) {
  return hn::LoadU(Lanes(), reinterpret_cast<const float*>(w));
}

/// The same, read as whole lines of the cache: 64 bytes of them begin in one, wherever the file has put them, and the
/// rest is picked out of the next. A row of x is done sooner so than with reads across lines, or of one line at a time
/// (bench/README.md). Both lines must be ours to read.
struct Bf16InLines : Bf16OfTwoParts {};
template <int p>
static HWY_INLINE Vector half(const Bf16InLines* w) {
  const auto at = reinterpret_cast<uintptr_t>(w), within = at % 64;
  const auto* line = reinterpret_cast<const uint32_t*>(at - within);
  const auto places = hn::Add(hn::Iota(Pairs(), 0), hn::Set(Pairs(), uint32_t(within / 4)));
  const auto first = hn::Load(Pairs(), line), second = hn::Load(Pairs(), line + 16);
  return hn::BitCast(Lanes(), hn::Vec<Pairs>{_mm512_permutex2var_epi32(first.raw, places.raw, second.raw)});
}

/// Two of them as one element, beside a rounded x (round_row()). Of these a row has whole vectors.
struct PairOfBf16 : Bf16InPairs {
  bf16 odd;
};
template <int p>
static HWY_INLINE Vector half(const PairOfBf16* w) {
  return hn::LoadU(Lanes(), reinterpret_cast<const float*>(w) + p * lanes());
}
#endif

/// sum + w · x of those elements, in each lane.
template <class W>
static HWY_INLINE Vector add_products(Vector sum, Vector w, Vector x) {
#if RUNGS_DOT_INSTRUCTIONS
  if constexpr (std::is_base_of_v<Bf16InPairs, W>)
    return add_dots_of_bf16(sum, hn::BitCast(Pairs(), w), hn::BitCast(Pairs(), x));
#endif
  return hn::MulAdd(w, x, sum);
}

/// Four rows of w.
template <class W>
struct FourRows {
  const W* w[4];
  int64_t k[4];  ///< the columns of out that they belong to
};

/// What a block asks memory for, in bytes from where it reads each row of w: from `first` at its first step on, so many
/// further at each.
struct Ask {
  int64_t first, step;
};

/// sum[i][r] += lanes of half p of w[i] · x[r].
template <int p, int R, class W>
static HWY_INLINE void multiply_add(Vector (&sum)[4][R], const FourRows<W>& rows, const float* x, int64_t x_stride,
                                    int64_t c) {
  Vector x_r[R];
  HWY_UNROLL(8) for (int r = 0; r < R; ++r) x_r[r] = hn::LoadU(Lanes(), x + r * x_stride + c + p * lanes());
  HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
    const Vector weight = half<p>(rows.w[i] + c);
    HWY_UNROLL(8) for (int r = 0; r < R; ++r) sum[i][r] = add_products<W>(sum[i][r], weight, x_r[r]);
  }
}

/// totals[i] += w[i] · x over elements [first, last), which fill no vectors.
template <class W>
static void add_rest(float* totals, const FourRows<W>& rows, const float* x, int64_t first, int64_t last) {
  for (int i = 0; i < 4; ++i)
    for (int64_t c = first; c < last; ++c) totals[i] += value_of(rows.w[i][c]) * x[c];
}

/// The sums of four rows of w with R of x over n elements, which are added to out if it `adds`: a chunk at a time, so
/// that an element does not depend on what is computed beside it.
template <int R, class W>
static HWY_INLINE void block(float* out, int64_t out_stride, const FourRows<W>& rows, const float* x, int64_t x_stride,
                             int64_t n, bool adds, Ask ask) {
  float totals[R][4];  // a row may stand twice among those of w, so out is read before any of it is written
  for (int r = 0; r < R && adds; ++r)
    for (int i = 0; i < 4; ++i) totals[r][i] = out[r * out_stride + rows.k[i]];
  const int64_t step = 2 * lanes();
  for (int64_t first = 0; first < n; first += chunk) {
    const int64_t last = std::min(n, first + chunk), whole = first + (last - first) / step * step;
    Vector sum[4][R];
    HWY_UNROLL(4) for (int i = 0; i < 4; ++i) HWY_UNROLL(8) for (int r = 0; r < R; ++r) sum[i][r] = hn::Zero(Lanes());
    for (int64_t c = first; c < whole; c += step) {
      multiply_add<0>(sum, rows, x, x_stride, c);
      multiply_add<1>(sum, rows, x, x_stride, c);
      HWY_UNROLL(4)
      for (int i = 0; i < 4; ++i)
        for (int64_t line = 0; line < step; line += 64 / sizeof(W))
          hwy::Prefetch(reinterpret_cast<const uint8_t*>(rows.w[i] + line) + ask.first);
      ask.first += ask.step;
    }
    HWY_UNROLL(8) for (int r = 0; r < R; ++r) {
      if (first > 0 || adds)
        add_sums_of_lanes(totals[r], sum[0][r], sum[1][r], sum[2][r], sum[3][r]);
      else
        store_sums_of_lanes(totals[r], sum[0][r], sum[1][r], sum[2][r], sum[3][r]);
      if (whole < last) add_rest(totals[r], rows, x + r * x_stride, whole, last);
    }
  }
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) out[r * out_stride + rows.k[i]] = totals[r][i];
}

/// The same for a number of rows of x that only this call knows.
template <int R, class W>
static HWY_INLINE void block_of(int64_t rows_of_x, float* out, int64_t out_stride, const FourRows<W>& rows,
                                const float* x, int64_t x_stride, int64_t n, bool adds, Ask ask) {
  if (rows_of_x == R) return block<R>(out, out_stride, rows, x, x_stride, n, adds, ask);
  if constexpr (R > 1) block_of<R - 1>(rows_of_x, out, out_stride, rows, x, x_stride, n, adds, ask);
}

/// Four rows of w from k on, so many apart.
template <class W>
static HWY_INLINE FourRows<W> rows_apart(const W* w, int64_t w_stride, int64_t k, int64_t apart) {
  FourRows<W> rows;
  const W* w_k = w + k * w_stride;
  HWY_UNROLL(4) for (int i = 0; i < 4; ++i, k += apart, w_k += apart * w_stride) rows.w[i] = w_k, rows.k[i] = k;
  return rows;
}

/// The products of R rows of x with K rows of w, eight or more, that a core's own caches may hold: nothing is asked
/// for, and one row of x is multiplied with eight at once, since an addition waits for the one before it. They are an
/// eighth of w apart, or a fourth: from memory each is a long stream, as in dots().
template <int R, class W>
static HWY_INLINE void dots_nearby(int64_t N, float* out, int64_t out_stride, const float* x, int64_t x_stride,
                                   const W* w, int64_t K, int64_t w_stride, int64_t C) {
  if constexpr (R > 1)
    if (N < R) return dots_nearby<R - 1>(N, out, out_stride, x, x_stride, w, K, w_stride, C);
  constexpr int fours = R == 1 ? 2 : 1, at_once = 4 * fours;
  const int64_t step = 2 * lanes(), whole = C / step * step, part = K / at_once;
  for (int64_t b = 0; b * at_once < K; ++b) {
    const int64_t first = b < part ? b : K - at_once, apart = b < part ? part : 1;  // in the end the last ones
    const auto four = [=](int f) HWY_ATTR { return rows_apart(w, w_stride, first + 4 * f * apart, apart); };
    FourRows<W> rows[fours];
    Vector sum[fours][4][R];
    HWY_UNROLL(2) for (int f = 0; f < fours; ++f) {
      rows[f] = four(f);
      HWY_UNROLL(4)
      for (int i = 0; i < 4; ++i) HWY_UNROLL(8) for (int r = 0; r < R; ++r) sum[f][i][r] = hn::Zero(Lanes());
    }
    for (int64_t c = 0; c < whole; c += step) {
      HWY_UNROLL(2) for (int f = 0; f < fours; ++f) multiply_add<0>(sum[f], rows[f], x, x_stride, c);
      HWY_UNROLL(2) for (int f = 0; f < fours; ++f) multiply_add<1>(sum[f], rows[f], x, x_stride, c);
    }
    HWY_UNROLL(2) for (int f = 0; f < fours; ++f) HWY_UNROLL(8) for (int r = 0; r < R; ++r) {
      float totals[4];
      store_sums_of_lanes(totals, sum[f][0][r], sum[f][1][r], sum[f][2][r], sum[f][3][r]);
      // Not rows[f], which a call would keep in memory: the compiler would load every row's address anew at each step.
      if (whole < C) add_rest(totals, four(f), x + r * x_stride, whole, C);
      float* o = out + r * out_stride + first + 4 * f * apart;
      HWY_UNROLL(4) for (int i = 0; i < 4; ++i) o[i * apart] = totals[i];
    }
  }
}

/// The b-th row of each quarter of w's K; where one has no more, that of the quarter before once more.
template <class W>
static HWY_INLINE FourRows<W> rows_of_quarters(const W* w, int64_t K, int64_t w_stride, int64_t b) {
  FourRows<W> rows;
  const int64_t quarter = (K + 3) / 4;
  for (int64_t i = 0, k = b; i < 4; ++i, k += quarter) {
    rows.k[i] = k < K ? k : rows.k[i - 1];
    rows.w[i] = w + rows.k[i] * w_stride;
  }
  return rows;
}

/// out[n, k] = x[n] · w[k] for K rows of w and N rows of x. Four quarters of w are read side by side: each is one long
/// stream that the processor sees coming, where short rows would start a stream every time. Rows of x that the cache
/// does not hold whole are read a chunk at a time.
///   The rows of x come in as few parts as registers allow, of nearly equal size; upcasting takes registers, too. The
/// processor asks for what comes next by itself, but stops at every page. Where there are several parts, all but the
/// first find the rows of w in the cache: so that memory works meanwhile, each asks for its share of the next rows.
template <class W>
static HWY_INLINE void dots(float* out, int64_t out_stride, const float* x, int64_t N, int64_t x_stride, const W* w,
                            int64_t K, int64_t w_stride, int64_t C) {
  if (C == 0)
    for (int64_t n = 0; n < N; ++n) std::fill_n(out + n * out_stride, K, 0.0f);
  constexpr int64_t bytes = sizeof(W), most = bytes == 4 || widest > 3 ? widest : 2;
  if (N > 0 && N <= most && K >= 8 && C <= chunk && K * w_stride * bytes <= nearby)
    return dots_nearby<most>(N, out, out_stride, x, x_stride, w, K, w_stride, C);
  const int64_t quarter = (K + 3) / 4;
  if (N == 1 && C <= in_cache) {  // w is all that is waited for: little may stand between its rows
    const Ask ask{bytes_asked_ahead(/*one_row_of_f32=*/std::is_same_v<W, float>), 2 * lanes() * bytes};
    for (int64_t b = 0; b < quarter; ++b)
      block<1>(out, out_stride, rows_of_quarters(w, K, w_stride, b), x, x_stride, C, false, ask);
    return;
  }
  for (int64_t n = 0; n < N; n += rows_at_a_time) {
    const int64_t some = std::min(rows_at_a_time, N - n), parts = (some + most - 1) / most;
    const int64_t least = some / parts, longer = some % parts;  // so many parts have one row more than the least
    const int64_t depth = some * C > in_cache ? chunk : C;
    for (int64_t c = 0; c < C; c += depth) {
      const int64_t elements = std::min(depth, C - c), share = elements * bytes / parts;
      const Ask ask{parts == 1 ? bytes_asked_ahead(/*one_row_of_f32=*/false) : w_stride * bytes,
                    2 * lanes() * bytes / parts};
      for (int64_t b = 0; b < quarter; ++b) {
        const FourRows<W> rows = rows_of_quarters(w + c, K, w_stride, b);
        for (int64_t p = 0, row = n; p < parts; ++p) {
          const int64_t few = least + (p < longer);
          block_of<most>(few, out + row * out_stride, out_stride, rows, x + row * x_stride + c, x_stride, elements,
                         c > 0, {ask.first + p * share, ask.step});
          row += few;
        }
      }
    }
  }
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

static void dots_of_pairs(float* out, int64_t out_stride, const float* x, int64_t N, int64_t x_stride, const bf16* w,
                          int64_t K, int64_t w_stride, int64_t C) {
#if RUNGS_DOT_INSTRUCTIONS
  if (x_stride < C)
    return dots(out, out_stride, x, N, x_stride, reinterpret_cast<const PairOfBf16*>(w), K, w_stride / 2, C / 2);
  const auto run = [&](const auto* w_k, int64_t k, int64_t rows)
                       HWY_ATTR { dots(out + k, out_stride, x, N, x_stride, w_k + k * w_stride, rows, w_stride, C); };
  const auto* two_parts = reinterpret_cast<const Bf16OfTwoParts*>(w);
  const auto within = reinterpret_cast<uintptr_t>(w) % 64;  // of each row, since 64 divides w_stride
  if (N > 1 || within % 4 != 0 || K < 3) return run(two_parts, 0, K);
  run(two_parts, 0, 1), run(two_parts, K - 1, 1);  // what is before the one and behind the other may not be ours
  run(reinterpret_cast<const Bf16InLines*>(w), 1, K - 2);
#else
  dots_bf16(out, out_stride, x, N, x_stride, w, K, w_stride, C);  // not called
#endif
}

/// out = x in the order in which the halves of bf16 come.
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

/// out = x rounded, in pairs.
static void round_row([[maybe_unused]] float* out, [[maybe_unused]] const float* x, [[maybe_unused]] int64_t C) {
#if RUNGS_DOT_INSTRUCTIONS
  round_pairs(out, x, C / 2);
#endif
}

/// out = x in two bf16, a vector of upper parts and one of lower ones in turn (two_parts()).
static void upper_and_lower([[maybe_unused]] float* out, [[maybe_unused]] const float* x, [[maybe_unused]] int64_t C) {
#if RUNGS_DOT_INSTRUCTIONS
  for (int64_t c = 0; c < C; c += 2 * lanes()) two_parts(out + c, out + c + lanes(), x + c);
#endif
}

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(most_rows);
HWY_EXPORT(dots_f32);
HWY_EXPORT(dots_bf16);
HWY_EXPORT(dots_f16);
HWY_EXPORT(dots_of_pairs);
HWY_EXPORT(evens_then_odds);
HWY_EXPORT(upper_and_lower);
HWY_EXPORT(round_row);

void small_batch_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  const int64_t N = x.rows(), K = weight.rows(), C = weight.cols();
  if (first == last) return;
  if (is_quantized(weight.dtype())) return quantized_product(out, x, weight, first, last);
  const auto run = [&](auto dots, const auto* w) {
    dots(out.data() + first, K, x.data(), N, x.cols(), w + first * C, last - first, C, C);
  };
  switch (weight.dtype()) {
    case DType::bf16:
      return run(
          takes_bf16_dots(weight.dtype(), C) ? HWY_DYNAMIC_DISPATCH(dots_of_pairs) : HWY_DYNAMIC_DISPATCH(dots_bf16),
          weight.data<bf16>());
    case DType::f16:
      return run(HWY_DYNAMIC_DISPATCH(dots_f16), weight.data<f16>());
    default:
      return run(HWY_DYNAMIC_DISPATCH(dots_f32), weight.data());
  }
}

int64_t small_batch_rows(DType weight) {
  return is_quantized(weight) ? std::numeric_limits<int64_t>::max() : HWY_DYNAMIC_DISPATCH(most_rows)(weight);
}

bool suits_bf16_dots(DType weight, int64_t C) { return weight == DType::bf16 && C % 64 == 0 && C >= 768; }

bool takes_bf16_dots(DType weight, int64_t C) { return suits_bf16_dots(weight, C) && uses_bf16_dot(); }

int64_t arranged_floats(int64_t N, int64_t C, DType weight) {
  if (is_quantized(weight)) return quantized_floats(C);
  if (takes_bf16_dots(weight, C) && N > rows_in_two_parts) return C / 2;
  return weight == DType::bf16 ? C : 0;
}

void arrange(Tensor& out, const Tensor& x, DType weight, int64_t first, int64_t last) {
  if (is_quantized(weight)) return quantize_rows(out, x, first, last);
  const int64_t C = x.cols();
  const auto arrange_row = out.cols() < C               ? HWY_DYNAMIC_DISPATCH(round_row)
                           : takes_bf16_dots(weight, C) ? HWY_DYNAMIC_DISPATCH(upper_and_lower)
                                                        : HWY_DYNAMIC_DISPATCH(evens_then_odds);
  for (int64_t n = first; n < last; ++n) arrange_row(out.data() + n * out.cols(), x.data() + n * C, C);
}

}  // namespace rungs
#endif
