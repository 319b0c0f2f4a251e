// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/packed_product.cpp"
#include "rungs/ops/packed_product.hpp"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "rungs/ops/dot.hpp"
#include "rungs/ops/dot_instructions-inl.hpp"
#include "rungs/ops/floats.hpp"
#include "rungs/ops/panel-inl.hpp"
#include "rungs/ops/upcast.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

/// A panel is so many elements of so many rows of w, two vectors wide and as deep as the nearest cache holds:
/// panel[c · width + k] is element c of row k. Of each `depth` elements of x one tile of rows stands after the other,
/// and element c of its row r at x[c · rows + r]. Two bf16 stand in a panel as one element. Where the processor
/// multiplies pairs of them, they are one of x, too.
constexpr int64_t width = panel_width, depth = 8192 / width;

/// Without an instruction for it, Highway makes a number of an infinity (ops/upcast.cpp).
#undef RUNGS_PROMOTES_F16
#define RUNGS_PROMOTES_F16 (HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM)

/// `halves`: elements of x for each of the panel.
struct Floats {
  static constexpr int halves = 1;
  template <int h>
  static HWY_INLINE hn::Vec<PanelLanes> half(const float* w) {
    return hn::Load(PanelLanes(), w);
  }
  static HWY_INLINE hn::Vec<PanelLanes> add_product(hn::Vec<PanelLanes> sum, hn::Vec<PanelLanes> w,
                                                    hn::Vec<PanelLanes> x) {
    return hn::MulAdd(x, w, sum);
  }
};

/// The first bf16 of each pair and the second, as f32, beside an x of f32. Widened here and not in the panel, which
/// takes half the room so, and half the time to make.
struct WidenedPairs : Floats {
  static constexpr int halves = 2;
  template <int h>
  static HWY_INLINE hn::Vec<PanelLanes> half(const float* w) {
    const auto pairs = hn::Load(PanelBits(), reinterpret_cast<const uint32_t*>(w));
    return hn::BitCast(PanelLanes(),
                       h == 0 ? hn::ShiftLeft<16>(pairs) : hn::And(pairs, hn::Set(PanelBits(), 0xffff0000u)));
  }
};

#if RUNGS_DOT_INSTRUCTIONS
struct PairsOfBf16 : Floats {
  static HWY_INLINE hn::Vec<PanelLanes> add_product(hn::Vec<PanelLanes> sum, hn::Vec<PanelLanes> w,
                                                    hn::Vec<PanelLanes> x) {
    return add_dots_of_bf16(sum, hn::BitCast(Pairs(), w), hn::BitCast(Pairs(), x));
  }
};
#else
using PairsOfBf16 = Floats;  // not used
#endif

/// Half h of column c of a panel times what belongs to it of R rows of x.
template <class Elements, int h, int R>
HWY_INLINE void add_column(hn::Vec<PanelLanes> (&sum)[R][2], const float* x, const float* panel, int64_t c) {
  const auto w_0 = Elements::template half<h>(panel + c * width);
  const auto w_1 = Elements::template half<h>(panel + c * width + panel_lanes);
  HWY_UNROLL(12) for (int r = 0; r < R; ++r) {
    const auto x_r = hn::Set(PanelLanes(), x[(c * Elements::halves + h) * R + r]);
    sum[r][0] = Elements::add_product(sum[r][0], w_0, x_r);
    sum[r][1] = Elements::add_product(sum[r][1], w_1, x_r);
  }
}

/// out (R, width) = the sums of R rows of x with a panel of n columns, added to what stands there if it `adds`. A
/// function of its own: within its caller's, g++ had kept sums in memory.
template <class Elements, int R>
HWY_NOINLINE void tile(float* out, int64_t out_stride, const float* x, const float* panel, int64_t n, bool adds,
                       const Ahead& ahead) {
  hn::Vec<PanelLanes> sum[R][2];
  begin_sums(sum, out, out_stride, adds);
  for (int64_t some = 0; some < n; some += width) {
    for (int64_t k = 0; k < ahead.rows; ++k)
      for (int64_t i = 0; i < width; i += 16) hwy::Prefetch(ahead.first + k * ahead.row_bytes + (some + i) * 4);
    for (int64_t c = some, end = std::min(n, some + width); c < end; ++c) {
      add_column<Elements, 0>(sum, x, panel, c);
      if constexpr (Elements::halves > 1) add_column<Elements, 1>(sum, x, panel, c);
    }
  }
  store_sums(out, out_stride, sum);
}

#if HWY_TARGET != HWY_SCALAR

/// What 32 bits of f32, two bf16 or two f16 stand for, to one column of a panel or two.
HWY_INLINE void store_columns(float* panel, hn::Vec<PanelBits> bits, const float*) {
  hn::Store(hn::BitCast(PanelLanes(), bits), PanelLanes(), panel);
}
HWY_INLINE void store_columns(float* panel, hn::Vec<PanelBits> bits, const bf16*) {
  const auto upper = hn::And(bits, hn::Set(PanelBits(), 0xffff0000u));
  hn::Store(hn::BitCast(PanelLanes(), hn::ShiftLeft<16>(bits)), PanelLanes(), panel);
  hn::Store(hn::BitCast(PanelLanes(), upper), PanelLanes(), panel + width);
}
#if RUNGS_PROMOTES_F16
HWY_INLINE hn::Vec<PanelLanes> lower_f16(hn::Vec<PanelBits> bits) {
  const hn::RebindToSigned<PanelBits> whole;
  const hn::Rebind<uint16_t, PanelLanes> halves;
  const hn::Rebind<hwy::float16_t, PanelLanes> f16s;
  const auto lower = hn::BitCast(whole, hn::And(bits, hn::Set(PanelBits(), 0xffffu)));
  return hn::PromoteTo(PanelLanes(), hn::BitCast(f16s, hn::DemoteTo(halves, lower)));
}
HWY_INLINE void store_columns(float* panel, hn::Vec<PanelBits> bits, const f16*) {
  hn::Store(lower_f16(bits), PanelLanes(), panel);
  hn::Store(lower_f16(hn::ShiftRight<16>(bits)), PanelLanes(), panel + width);
}
#endif

#endif

/// panel = n elements of `width` rows of w, which are `stride` apart.
template <class W>
void pack(float* panel, const W* w, int64_t stride, int64_t n) {
  int64_t whole = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t step = 16 / sizeof(W), in_32_bits = 4 / sizeof(W);
  whole = n / step * step;
  for_columns(w, stride * int64_t(sizeof(W)), whole / in_32_bits,
              [=](int64_t i, int64_t k, hn::Vec<PanelBits> bits)
                  HWY_ATTR { store_columns(panel + i * in_32_bits * width + k, bits, w); });
#endif
  for (int64_t k = 0; k < width; ++k)
    for (int64_t c = whole; c < n; ++c) panel[c * width + k] = value_of(w[k * stride + c]);
}

/// The same of fewer rows: the last stands for those that are missing.
template <class W>
void pack(float* panel, const W* w, int64_t rows, int64_t stride, int64_t n) {
  if (rows == width) return pack(panel, w, stride, n);
  W all[width * depth];
  for (int64_t k = 0; k < width; ++k) std::copy_n(w + std::min(k, rows - 1) * stride, n, all + k * n);
  pack(panel, static_cast<const W*>(all), n, n);
}

/// The same of elements [c, c + n) of rows [k, k + rows) of w.
template <class Elements>
void pack_panel(float* panel, const Tensor& w, int64_t k, int64_t rows, int64_t c, int64_t n) {
  const int64_t C = w.cols(), at = k * C + c;
  if (!std::is_same_v<Elements, Floats>)  // 32 bits are 32 bits
    return pack(panel, static_cast<const float*>(w.raw()) + k * (C / 2) + c, rows, C / 2, n);
  if (w.dtype() == DType::f32) return pack(panel, w.data() + at, rows, C, n);
  if (w.dtype() == DType::bf16) return pack(panel, w.data<bf16>() + at, rows, C, n);
#if RUNGS_PROMOTES_F16
  if (w.dtype() == DType::f16) return pack(panel, w.data<f16>() + at, rows, C, n);
#endif
  HWY_ALIGN float upcasted[width * depth];
  upcast(upcasted, w, at, n, rows, C);
  pack(panel, static_cast<const float*>(upcasted), rows, n, n);
}

/// Rows of w that are read to their end before the rows below: where rows begin a page apart and each page were left
/// after a kilobyte, the processor would forget where it lies in memory (the TLB holds some thousand).
constexpr int64_t rows_in_turn = 64;

/// C elements of each row of w, as a panel has them.
template <class Elements>
void product(float* out, const float* x, int64_t N, const Tensor& w, int64_t C, int64_t first, int64_t last) {
  constexpr int64_t halves = Elements::halves, deep = depth / halves;
  const int64_t K = w.rows();
  if (C == 0)
    for (int64_t n = 0; n < N; ++n) std::fill(out + n * K + first, out + n * K + last, 0.0f);
  HWY_ALIGN float memory[width * deep], *panel = memory;
  for (int64_t top = first; top < last; top += rows_in_turn) {
    const int64_t end = std::min(last, top + rows_in_turn);
    for (int64_t c = 0; c < C; c += deep)
      for (int64_t k = top; k < end; k += width) {
        const int64_t n = std::min(deep, C - c), columns = std::min(width, end - k);
        pack_panel<Elements>(panel, w, k, columns, c, n);
        int64_t next_k = k + width, next_c = c;
        if (next_k >= end) next_k = top, next_c += deep;
        if (next_c >= C) next_k = end, next_c = 0;
        const int64_t row_bytes = int64_t(w.bytes()) / K;
        const auto* next = static_cast<const uint8_t*>(w.raw()) + next_k * row_bytes + next_c * row_bytes / C;
        const Ahead ahead{next, std::min(last - next_k, width), row_bytes};
        rows_with_panel<rows_in_registers>(
            out + k, columns, K, N, c > 0, [=](int64_t row, auto R, float* o, int64_t stride) HWY_ATTR {
              tile<Elements, R>(o, stride, x + (c * N + row * n) * halves, panel, n, c > 0, ahead.share(row, R, N));
            });
      }
  }
}

void product_of_packed(float* out, const float* x, int64_t N, const Tensor& w, int64_t first, int64_t last) {
  const int64_t C = w.cols();
  if (w.dtype() != DType::bf16 || C % 2 != 0) return product<Floats>(out, x, N, w, C, first, last);
  const bool rounded_x = floats_of_packed(C, w.dtype()) < C;
  (rounded_x ? product<PairsOfBf16> : product<WidenedPairs>)(out, x, N, w, C / 2, first, last);
}

/// out = element 0 of each row, then element 1, ...
template <int R>
HWY_INLINE void interleave(float* out, const float* const (&rows)[R], int64_t n) {
  for (int64_t i = 0; i < n; ++i, out += R) HWY_UNROLL(12)
  for (int r = 0; r < R; ++r) out[r] = rows[r][i];
}

/// Tiles [first, last) of the rows of x.
void pack_tiles_of_rows(float* out, const float* x, int64_t N, int64_t C, bool pairs, int64_t first, int64_t last) {
  const int64_t floats = pairs ? C / 2 : C;
  const Tiles tiles{N, rows_in_registers};
  [[maybe_unused]] float rounded_x[rows_in_registers][depth];
  for (int64_t t = first; t < last; ++t)
    for (int64_t c = 0; c < floats; c += depth) {
      const int64_t n = std::min(depth, floats - c), row = tiles.first(t);
      float* tile = out + c * N + row * n;
      with_constant<rows_in_registers>(tiles.rows(t), [&](auto R) HWY_ATTR {
        const float* from[R];
        for (int r = 0; r < R; ++r) {
          from[r] = x + (row + r) * C + (pairs ? 2 * c : c);
#if RUNGS_DOT_INSTRUCTIONS
          if (pairs) round_pairs(rounded_x[r], from[r], n), from[r] = rounded_x[r];
#endif
        }
        interleave(tile, from, n);
      });
    }
}

int64_t columns_of_panel() { return width; }

int64_t count_tiles(int64_t N) { return Tiles{N, rows_in_registers}.count; }

}  // namespace

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(product_of_packed);
HWY_EXPORT(pack_tiles_of_rows);
HWY_EXPORT(columns_of_panel);
HWY_EXPORT(count_tiles);

void packed_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(product_of_packed)(out.data(), x.data(), x.rows(), weight, first, last);
}

int64_t packed_columns() { return HWY_DYNAMIC_DISPATCH(columns_of_panel)(); }

int64_t floats_of_packed(int64_t C, DType weight) { return takes_bf16_dots(weight, C) ? C / 2 : C; }

int64_t packed_tiles(int64_t N) { return HWY_DYNAMIC_DISPATCH(count_tiles)(N); }

void pack_rows(Tensor& out, const Tensor& x, DType weight, int64_t first, int64_t last) {
  const int64_t N = x.rows(), C = x.cols();
  HWY_DYNAMIC_DISPATCH(pack_tiles_of_rows)(out.data(), x.data(), N, C, takes_bf16_dots(weight, C), first, last);
}

}  // namespace rungs
#endif
