// For files that Highway compiles once for each kind of processor, and so included once for each.
#if defined(RUNGS_PANEL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNGS_PANEL_INL_HPP
#undef RUNGS_PANEL_INL_HPP
#else
#define RUNGS_PANEL_INL_HPP
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "rungs/ops/constant-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using PanelLanes = hn::ScalableTag<float>;
using PanelBits = hn::RebindToUnsigned<PanelLanes>;
constexpr int64_t panel_lanes = hn::MaxLanes(PanelLanes());

/// Rows of w in a panel: two vectors of them.
constexpr int64_t panel_width = 2 * panel_lanes;

/// Rows of x whose sums with a panel stand in registers, two vectors each.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int rows_in_registers = 12;  // there are 32
#else
constexpr int rows_in_registers = 6;
#endif

/// sum = what stands in R rows of out if it `adds` to that, else 0.
template <int R>
HWY_INLINE void begin_sums(hn::Vec<PanelLanes> (&sum)[R][2], const float* out, int64_t out_stride, bool adds) {
  const PanelLanes d;
  HWY_UNROLL(12)
  for (int r = 0; r < R; ++r) HWY_UNROLL(2)
  for (int p = 0; p < 2; ++p) sum[r][p] = adds ? hn::LoadU(d, out + r * out_stride + p * panel_lanes) : hn::Zero(d);
}

/// R rows of out = sum.
template <int R>
HWY_INLINE void store_sums(float* out, int64_t out_stride, const hn::Vec<PanelLanes> (&sum)[R][2]) {
  HWY_UNROLL(12)
  for (int r = 0; r < R; ++r) HWY_UNROLL(2)
  for (int p = 0; p < 2; ++p) hn::StoreU(sum[r][p], PanelLanes(), out + r * out_stride + p * panel_lanes);
}

/// N rows in tiles of nearly equal size, so that a row more costs little: tile t begins at row first(t).
struct Tiles {
  int64_t N, most, count = (N + most - 1) / most;
  int64_t first(int64_t t) const { return N * t / count; }
  int64_t rows(int64_t t) const { return first(t + 1) - first(t); }
};

/// All rows of out, `columns` of them, with one panel, tile by tile: tile(first row, rows, out, out_stride) with a
/// number of rows that the compiler knows.
template <int most, class Tile>
HWY_INLINE void rows_with_panel(float* out, int64_t columns, int64_t out_stride, int64_t N, bool adds,
                                const Tile& tile) {
  const Tiles tiles{N, most};
  for (int64_t t = 0; t < tiles.count; ++t) {
    const int64_t first = tiles.first(t), rows = tiles.rows(t);
    float* out_t = out + first * out_stride;
    const auto compute = [&](float* o, int64_t stride) HWY_ATTR {
      with_constant<most>(rows, [&](auto R) HWY_ATTR { tile(first, R, o, stride); });
    };
    if (columns == panel_width) {
      compute(out_t, out_stride);
      continue;
    }
    HWY_ALIGN float some[most * panel_width] = {};
    for (int64_t r = 0; r < rows && adds; ++r) std::copy_n(out_t + r * out_stride, columns, some + r * panel_width);
    compute(some, panel_width);
    for (int64_t r = 0; r < rows; ++r) std::copy_n(some + r * panel_width, columns, out_t + r * out_stride);
  }
}

/// What the tiles ask for while they use a panel: the rows of w of the next one. Their pieces are too short for the
/// processor to see them coming.
struct Ahead {
  const uint8_t* first;
  int64_t rows, row_bytes;

  /// The share of some of N rows of x.
  Ahead share(int64_t row, int64_t some, int64_t N) const {
    const int64_t begin = rows * row / N;
    return {first + begin * row_bytes, rows * (row + some) / N - begin, row_bytes};
  }
};

#if HWY_TARGET != HWY_SCALAR

/// 128 bits at each of quad[0], quad[1], ..., so many bytes further: as many as d has.
template <class D>
HWY_INLINE hn::Vec<D> side_by_side(D d, const uint8_t* const* quad, int64_t further) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return hn::LoadU(d, reinterpret_cast<const uint32_t*>(quad[0] + further));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, side_by_side(half, quad + hn::MaxLanes(half) / 4, further),
                       side_by_side(half, quad, further));
  }
}

/// out[i] = the i-th 32 bits of each row; rows 0, 4, 8, ... begin at quad[0], quad[1], ...
HWY_INLINE void transpose(const uint8_t* const* quad, int64_t stride, hn::Vec<PanelBits> (&out)[4]) {
  const PanelBits d;
  const auto a = side_by_side(d, quad, 0), b = side_by_side(d, quad, stride);
  const auto c = side_by_side(d, quad, 2 * stride), e = side_by_side(d, quad, 3 * stride);
  const auto lower_even = hn::InterleaveLower(d, a, c), lower_odd = hn::InterleaveLower(d, b, e);
  const auto upper_even = hn::InterleaveUpper(d, a, c), upper_odd = hn::InterleaveUpper(d, b, e);
  out[0] = hn::InterleaveLower(d, lower_even, lower_odd), out[1] = hn::InterleaveUpper(d, lower_even, lower_odd);
  out[2] = hn::InterleaveLower(d, upper_even, upper_odd), out[3] = hn::InterleaveUpper(d, upper_even, upper_odd);
}

/// store(i, k, the i-th 32 bits of rows k to k + panel_lanes) of panel_width rows, for all i below n, which 4 divides.
template <class Store>
HWY_INLINE void for_columns(const void* rows, int64_t row_bytes, int64_t n, const Store& store) {
  for (int64_t k = 0; k < panel_width; k += panel_lanes) {
    const uint8_t* quad[panel_lanes / 4];
    for (int64_t i = 0; i < panel_lanes / 4; ++i) quad[i] = static_cast<const uint8_t*>(rows) + (k + 4 * i) * row_bytes;
    for (int64_t c = 0; c < n; c += 4) {
      hn::Vec<PanelBits> columns[4];
      transpose(quad, row_bytes, columns);
      HWY_UNROLL(4) for (int i = 0; i < 4; ++i) store(c + i, k, columns[i]);
      HWY_UNROLL(4) for (int64_t i = 0; i < panel_lanes / 4; ++i) quad[i] += 16;
    }
  }
}

#if HWY_TARGET <= HWY_AVX3

/// Asks for what will be written to so many rows of out, the pages of which the processor may have to look up first.
HWY_INLINE void ask_for(float* out, int64_t out_stride, int64_t rows) {
  for (int64_t n = 0; n < rows; ++n) hwy::Prefetch(out + n * out_stride);
}

/// out[n, k] = sums[k, n] for all k and n below 16 that are rows of w and of x.
HWY_INLINE void store_transposed(float* out, int64_t out_stride, const float* sums, int64_t rows_of_w,
                                 int64_t rows_of_x) {
  const PanelLanes d;
  const auto columns = hn::FirstN(d, size_t(rows_of_w));
  const uint8_t* quad[4];
  for (int64_t i = 0; i < 4; ++i) quad[i] = reinterpret_cast<const uint8_t*>(sums + 64 * i);
  for (int64_t n = 0; n < rows_of_x; n += 4) {
    hn::Vec<PanelBits> rows[4];
    transpose(quad, 64, rows);
    for (int64_t i = 0; i < std::min<int64_t>(4, rows_of_x - n); ++i)
      hn::BlendedStore(hn::BitCast(d, rows[i]), columns, d, out + (n + i) * out_stride);
    for (int64_t i = 0; i < 4; ++i) quad[i] += 16;
  }
}

#endif

#endif

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
