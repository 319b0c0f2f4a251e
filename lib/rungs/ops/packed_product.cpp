// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/packed_product.cpp"
#include "rungs/ops/packed_product.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "rungs/ops/floats.hpp"
#include "rungs/ops/upcast.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

using PanelLanes = hn::ScalableTag<float>;
using PanelBits = hn::RebindToUnsigned<PanelLanes>;
constexpr int64_t panel_lanes = hn::MaxLanes(PanelLanes());

/// A panel is so many elements of so many rows of w, two vectors wide and as deep as the nearest cache holds:
/// panel[c · width + k] is element c of row k.
constexpr int64_t width = 2 * panel_lanes, depth = 8192 / width;

/// Without an instruction for it, Highway makes a number of an infinity (ops/upcast.cpp).
#undef RUNGS_PROMOTES_F16
#define RUNGS_PROMOTES_F16 (HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM)

/// Rows of x whose sums stand in registers, two vectors each.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int most_rows = 12;  // there are 32
#else
constexpr int most_rows = 6;
#endif

/// The rows of x in tiles of nearly equal size, so that a row more costs little: tile t begins at row first(t). Of each
/// `depth` columns of x, one tile stands after the other, and element c of its row r at x[c · rows + r].
struct Tiles {
  int64_t N, count = (N + most_rows - 1) / most_rows;
  int64_t first(int64_t t) const { return N * t / count; }
  int64_t rows(int64_t t) const { return first(t + 1) - first(t); }
};

/// out (R, width) = the sums of R rows of x with a panel of n columns, added to what stands there if it `adds`.
template <int R>
HWY_INLINE void tile(float* out, int64_t out_stride, const float* x, const float* panel, int64_t n, bool adds) {
  const PanelLanes d;
  hn::Vec<PanelLanes> sum[R][2];
  HWY_UNROLL(12)
  for (int r = 0; r < R; ++r) HWY_UNROLL(2)
  for (int p = 0; p < 2; ++p) sum[r][p] = adds ? hn::LoadU(d, out + r * out_stride + p * panel_lanes) : hn::Zero(d);
  for (int64_t c = 0; c < n; ++c) {
    const auto w_0 = hn::Load(d, panel + c * width), w_1 = hn::Load(d, panel + c * width + panel_lanes);
    HWY_UNROLL(12) for (int r = 0; r < R; ++r) {
      const auto x_r = hn::Set(d, x[c * R + r]);
      sum[r][0] = hn::MulAdd(x_r, w_0, sum[r][0]);
      sum[r][1] = hn::MulAdd(x_r, w_1, sum[r][1]);
    }
  }
  HWY_UNROLL(12)
  for (int r = 0; r < R; ++r) HWY_UNROLL(2)
  for (int p = 0; p < 2; ++p) hn::StoreU(sum[r][p], d, out + r * out_stride + p * panel_lanes);
}

/// The same for a number of rows that only this call knows.
template <int R = most_rows>
HWY_INLINE void tile(int64_t rows, float* out, int64_t out_stride, const float* x, const float* panel, int64_t n,
                     bool adds) {
  if (rows == R) return tile<R>(out, out_stride, x, panel, n, adds);
  if constexpr (R > 1) tile<R - 1>(rows, out, out_stride, x, panel, n, adds);
}

#if HWY_TARGET != HWY_SCALAR

/// 128 bits of each of row[0], row[4], ...: as many as d has.
template <class D>
HWY_INLINE hn::Vec<D> every_fourth(D d, const uint32_t* const* row) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return hn::LoadU(d, row[0]);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, every_fourth(half, row + hn::MaxLanes(half)), every_fourth(half, row));
  }
}

/// out[i] = the i-th 32 bits of each row.
HWY_INLINE void transpose(const uint32_t* const* row, hn::Vec<PanelBits> (&out)[4]) {
  const PanelBits d;
  const auto a = every_fourth(d, row), b = every_fourth(d, row + 1);
  const auto c = every_fourth(d, row + 2), e = every_fourth(d, row + 3);
  const auto lower_even = hn::InterleaveLower(d, a, c), lower_odd = hn::InterleaveLower(d, b, e);
  const auto upper_even = hn::InterleaveUpper(d, a, c), upper_odd = hn::InterleaveUpper(d, b, e);
  out[0] = hn::InterleaveLower(d, lower_even, lower_odd), out[1] = hn::InterleaveUpper(d, lower_even, lower_odd);
  out[2] = hn::InterleaveLower(d, upper_even, upper_odd), out[3] = hn::InterleaveUpper(d, upper_even, upper_odd);
}

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

/// panel = n elements of `rows` rows of w, which are `stride` apart; the last row stands for those that are missing.
template <class W>
void pack(float* panel, const W* w, int64_t rows, int64_t stride, int64_t n) {
  int64_t whole = 0;
  const auto row = [&](int64_t k) { return w + std::min(k, rows - 1) * stride; };
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t step = 16 / sizeof(W), in_32_bits = 4 / sizeof(W);
  whole = n / step * step;
  for (int64_t k = 0; k < width; k += panel_lanes) {
    const uint32_t* some[panel_lanes];
    for (int64_t i = 0; i < panel_lanes; ++i) some[i] = reinterpret_cast<const uint32_t*>(row(k + i));
    for (int64_t c = 0; c < whole; c += step) {
      hn::Vec<PanelBits> columns[4];
      transpose(some, columns);
      HWY_UNROLL(4) for (int i = 0; i < 4; ++i) store_columns(panel + (c + i * in_32_bits) * width + k, columns[i], w);
      for (const uint32_t*& at : some) at += 4;
    }
  }
#endif
  for (int64_t k = 0; k < width; ++k)
    for (int64_t c = whole; c < n; ++c) panel[c * width + k] = value_of(row(k)[c]);
}

/// The same of columns [c, c + n) of rows [k, k + rows) of w.
void pack_panel(float* panel, const Tensor& w, int64_t k, int64_t rows, int64_t c, int64_t n) {
  const int64_t C = w.cols(), at = k * C + c;
  if (w.dtype() == DType::f32) return pack(panel, w.data() + at, rows, C, n);
  if (w.dtype() == DType::bf16) return pack(panel, w.data<bf16>() + at, rows, C, n);
#if RUNGS_PROMOTES_F16
  if (w.dtype() == DType::f16) return pack(panel, w.data<f16>() + at, rows, C, n);
#endif
  HWY_ALIGN float upcasted[width * depth];
  upcast(upcasted, w, at, n, rows, C);
  pack(panel, static_cast<const float*>(upcasted), rows, n, n);
}

/// All rows of out, `columns` of them, with one panel.
void rows_with_panel(float* out, int64_t columns, int64_t out_stride, const float* x, int64_t N, const float* panel,
                     int64_t n, bool adds) {
  const Tiles tiles{N};
  for (int64_t t = 0; t < tiles.count; ++t) {
    const int64_t rows = tiles.rows(t);
    const float* x_t = x + tiles.first(t) * n;
    float* out_t = out + tiles.first(t) * out_stride;
    if (columns == width) {
      tile(rows, out_t, out_stride, x_t, panel, n, adds);
      continue;
    }
    HWY_ALIGN float some[most_rows * width] = {};
    for (int64_t r = 0; r < rows && adds; ++r) std::copy_n(out_t + r * out_stride, columns, some + r * width);
    tile(rows, some, width, x_t, panel, n, adds);
    for (int64_t r = 0; r < rows; ++r) std::copy_n(some + r * width, columns, out_t + r * out_stride);
  }
}

void product_of_packed(float* out, const float* x, int64_t N, const Tensor& w, int64_t first, int64_t last) {
  const int64_t K = w.rows(), C = w.cols();
  if (C == 0)
    for (int64_t n = 0; n < N; ++n) std::fill(out + n * K + first, out + n * K + last, 0.0f);
  HWY_ALIGN float panel[width * depth];
  for (int64_t c = 0; c < C; c += depth)
    for (int64_t k = first; k < last; k += width) {
      const int64_t n = std::min(depth, C - c), columns = std::min(width, last - k);
      pack_panel(panel, w, k, columns, c, n);
      rows_with_panel(out + k, columns, K, x + c * N, N, panel, n, c > 0);
    }
}

/// Columns [c, c + n) of all rows, which become one piece of packed x.
void pack_piece(float* out, const float* x, int64_t N, int64_t C, int64_t c, int64_t n) {
  const Tiles tiles{N};
  for (int64_t t = 0; t < tiles.count; ++t) {
    const int64_t first = tiles.first(t), rows = tiles.rows(t);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < n; ++i) out[c * N + first * n + i * rows + r] = x[(first + r) * C + c + i];
  }
}

int64_t depth_of_panel() { return depth; }

}  // namespace

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(product_of_packed);
HWY_EXPORT(pack_piece);
HWY_EXPORT(depth_of_panel);

void packed_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(product_of_packed)(out.data(), x.data(), x.rows(), weight, first, last);
}

int64_t packed_columns() { return HWY_DYNAMIC_DISPATCH(depth_of_panel)(); }

void pack_columns(Tensor& out, const Tensor& x, int64_t first, int64_t last) {
  for (const int64_t depth = packed_columns(); first < last; first += depth)
    HWY_DYNAMIC_DISPATCH(pack_piece)(out.data(), x.data(), x.rows(), x.cols(), first, std::min(depth, last - first));
}

}  // namespace rungs
#endif
