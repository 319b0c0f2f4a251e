// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/packed_bytes.cpp"
#include "rungs/ops/packed_bytes.hpp"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "rungs/ops/blocks_of_x.hpp"
#include "rungs/ops/dot_instructions-inl.hpp"
#include "rungs/ops/panel-inl.hpp"
#include "rungs/ops/processor.hpp"
#include "rungs/ops/quantized_blocks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if RUNGS_BYTE_DOTS

namespace {

using WholeLanes = hn::RebindToSigned<PanelLanes>;

/// A block of x, of each row of a panel: number[i] has numbers 4 i to 4 i + 3 of every row.
template <class Q>
struct PanelBlock {
  HWY_ALIGN uint8_t number[block_elements / 4][4 * panel_width];
  HWY_ALIGN float scale[groups_in<Q>][panel_width];  ///< that of the block times that of a group, without rounding
};

/// Its mins, too, times their scale.
template <>
struct PanelBlock<q4_k> {
  HWY_ALIGN uint8_t number[block_elements / 4][4 * panel_width];
  HWY_ALIGN float scale[1][panel_width], min[panel_width];
};

/// As many as the nearest cache holds beside some of x; in whole blocks of the weight.
template <class Q>
constexpr int64_t panel_blocks = blocks_in<Q> == 1 ? 28 : 24;

/// A block of w of as many rows as a vector has lanes.
struct SomeRows {
  const uint8_t* quad[panel_lanes / 4];  ///< rows 0, 4, 8, ...
  int64_t row_bytes;

  /// At `offset` in each block: the four 32 bits of 16 bytes.
  HWY_INLINE void sixteen(size_t offset, hn::Vec<PanelBits> (&out)[4]) const {
    const uint8_t* at[panel_lanes / 4];
    for (int64_t i = 0; i < panel_lanes / 4; ++i) at[i] = quad[i] + offset;
    transpose(at, row_bytes, out);
  }

  /// 32 bits.
  HWY_INLINE hn::Vec<WholeLanes> four(size_t offset) const {
    const WholeLanes d;
    const auto rows = hn::Mul(hn::Iota(d, 0), hn::Set(d, int32_t(row_bytes)));
    return hn::GatherOffset(d, reinterpret_cast<const int32_t*>(quad[0] + offset), rows);
  }
};

HWY_INLINE void store_four(uint8_t* out, hn::Vec<PanelBits> v) {
  hn::Store(v, PanelBits(), reinterpret_cast<uint32_t*>(out));
}

HWY_INLINE hn::Vec<PanelBits> low_nibbles(hn::Vec<PanelBits> v) {
  return hn::And(v, hn::Set(PanelBits(), 0x0f0f0f0fu));
}

/// out = scale times the whole numbers.
HWY_INLINE void store_scales(float* out, hn::Vec<PanelLanes> scale, hn::Vec<WholeLanes> of_groups) {
  hn::Store(hn::Mul(scale, hn::ConvertTo(PanelLanes(), of_groups)), PanelLanes(), out);
}

/// Of rows k and those after it.
HWY_INLINE void unpack(PanelBlock<q8_0>* out, int64_t k, const SomeRows& w) {
  HWY_UNROLL(2) for (int h = 0; h < 2; ++h) {
    hn::Vec<PanelBits> some[4];
    w.sixteen(offsetof(q8_0, q) + 16 * h, some);
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i)
      store_four(out->number[4 * h + i] + 4 * k, hn::Xor(some[i], hn::Set(PanelBits(), 0x80808080u)));
  }
  hn::Store(lower_halves(PanelLanes(), w.four(0)), PanelLanes(), out->scale[0] + k);
}

HWY_INLINE void unpack(PanelBlock<q4_0>* out, int64_t k, const SomeRows& w) {
  hn::Vec<PanelBits> some[4];
  w.sixteen(offsetof(q4_0, q), some);
  HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
    store_four(out->number[i] + 4 * k, low_nibbles(some[i]));
    store_four(out->number[4 + i] + 4 * k, low_nibbles(hn::ShiftRight<4>(some[i])));
  }
  hn::Store(lower_halves(PanelLanes(), w.four(0)), PanelLanes(), out->scale[0] + k);
}

HWY_INLINE void unpack(PanelBlock<q4_k>* out, int64_t k, const SomeRows& w) {
  for (int i = 0; i < 8; ++i) {
    hn::Vec<PanelBits> some[4];
    w.sixteen(offsetof(q4_k, q) + 16 * i, some);
    HWY_UNROLL(4) for (int j = 0; j < 4; ++j) {
      auto* two = &out[i / 2 * 2];
      store_four(two[0].number[i % 2 * 4 + j] + 4 * k, low_nibbles(some[j]));
      store_four(two[1].number[i % 2 * 4 + j] + 4 * k, low_nibbles(hn::ShiftRight<4>(some[j])));
    }
  }
  const WholeLanes d;
  hn::Vec<PanelBits> bits[4];
  w.sixteen(0, bits);
  const hn::Vec<WholeLanes> words[] = {hn::BitCast(d, bits[0]), hn::BitCast(d, bits[1]), hn::BitCast(d, bits[2]),
                                       hn::BitCast(d, bits[3])};
  const auto scale = lower_halves(PanelLanes(), words[0]), min_scale = upper_halves(PanelLanes(), words[0]);
  for (int part = 0; part < 8; ++part) {
    hn::Vec<WholeLanes> of_group, min;
    six_bits_of_group(d, words, part, of_group, min);
    store_scales(out[part].scale[0] + k, scale, of_group);
    store_scales(out[part].min + k, min_scale, min);
  }
}

HWY_INLINE void unpack(PanelBlock<q6_k>* out, int64_t k, const SomeRows& w) {
  const hn::Repartition<uint8_t, PanelLanes> bytes;
  for (int i = 0; i < 8; ++i) {  // 16 numbers of both a quarter of a half and the next but one
    const int half = i / 4, quarter = i / 2 % 2, sixteen = i % 2;
    hn::Vec<PanelBits> low[4], high[4];
    w.sixteen(offsetof(q6_k, low) + 16 * i, low);
    w.sixteen(offsetof(q6_k, high) + 32 * half + 16 * sixteen, high);
    HWY_UNROLL(4) for (int j = 0; j < 4; ++j) HWY_UNROLL(2) for (int q = quarter; q < 4; q += 2) {
      const auto six = six_bits(bytes, hn::BitCast(bytes, low[j]), hn::BitCast(bytes, high[j]), q);
      store_four(out[4 * half + q].number[4 * sixteen + j] + 4 * k, hn::BitCast(PanelBits(), six));
    }
  }
  const auto scale = upper_halves(PanelLanes(), w.four(sizeof(q6_k) - 4));
  hn::Vec<PanelBits> groups[4];
  w.sixteen(offsetof(q6_k, groups), groups);
  for (int g = 0; g < 16; ++g) {
    const auto byte = hn::BitCast(WholeLanes(), hn::ShiftLeftSame(groups[g / 4], 24 - g % 4 * 8));
    store_scales(out[g / 2].scale[g % 2] + k, scale, hn::ShiftRight<24>(byte));
  }
}

/// n blocks of x, of panel_width rows of w, which are `stride` blocks of w apart.
template <class Q>
void pack(PanelBlock<Q>* panel, const Q* w, int64_t stride, int64_t n) {
  SomeRows rows;
  rows.row_bytes = stride * int64_t(sizeof(Q));
  for (int64_t k = 0; k < panel_width; k += panel_lanes)
    for (int64_t b = 0; b < n; b += blocks_in<Q>) {
      for (int64_t i = 0; i < panel_lanes / 4; ++i)
        rows.quad[i] = reinterpret_cast<const uint8_t*>(w + (k + 4 * i) * stride + b / blocks_in<Q>);
      unpack(panel + b, k, rows);
    }
}

/// The same of fewer rows: the last stands for those that are missing.
template <class Q>
void pack(PanelBlock<Q>* panel, const Q* w, int64_t rows, int64_t stride, int64_t n) {
  if (rows == panel_width) return pack(panel, w, stride, n);
  Q all[panel_width * panel_blocks<Q> / blocks_in<Q>];
  const int64_t of_w = n / blocks_in<Q>;
  for (int64_t k = 0; k < panel_width; ++k) std::copy_n(w + std::min(k, rows - 1) * stride, of_w, all + k * of_w);
  pack(panel, static_cast<const Q*>(all), of_w, n);
}

/// Rows of x whose sums stand in registers, as whole numbers and, where there are 32, as f32.
constexpr int most_rows_of_bytes = RUNGS_DOT_INSTRUCTIONS ? 6 : 4;

/// out (R, panel_width) = the sums of R rows of x, from block b of each, with n blocks, added to out if it `adds`.
template <class Q, int R>
HWY_NOINLINE void tile_of_bytes(float* out, int64_t out_stride, const RowsOfX& x, int64_t b, const PanelBlock<Q>* panel,
                                int64_t n, bool adds, const Ahead& ahead) {
  const PanelLanes d;
  const WholeLanes whole;
  const hn::Repartition<uint8_t, PanelLanes> bytes;
  hn::Vec<PanelLanes> total[R][2];
  begin_sums(total, out, out_stride, adds);
  for (const PanelBlock<Q>* end = panel + n; panel < end; ++panel, ++b) {
    for (int64_t k = 0; k < ahead.rows; ++k)
      hwy::Prefetch(ahead.first + k * ahead.row_bytes + b * int64_t(sizeof(Q)) / blocks_in<Q>);
    constexpr int steps = int(block_elements) / 4 / groups_in<Q>;
    HWY_UNROLL(2) for (int g = 0; g < groups_in<Q>; ++g) {
      hn::Vec<WholeLanes> sum[R][2];
      HWY_UNROLL(6)
      for (int r = 0; r < R; ++r)
        sum[r][0] = sum[r][1] =
            offset_of<Q> == 0 ? hn::Zero(whole) : sum_of_x<Q>(whole, x.block(r, b).both_sums(), g, -offset_of<Q>);
      HWY_UNROLL(8) for (int i = g * steps; i < (g + 1) * steps; ++i) {
        const auto w_0 = hn::Load(bytes, panel->number[i]), w_1 = hn::Load(bytes, panel->number[i] + 4 * panel_lanes);
        HWY_UNROLL(6) for (int r = 0; r < R; ++r) {
          const auto x_r = hn::Set(whole, reinterpret_cast<const int32_t*>(x.block(r, b).q)[i]);
          sum[r][0] = add_dots_of_bytes(sum[r][0], w_0, x_r);
          sum[r][1] = add_dots_of_bytes(sum[r][1], w_1, x_r);
        }
      }
      const auto scale_0 = hn::Load(d, panel->scale[g]), scale_1 = hn::Load(d, panel->scale[g] + panel_lanes);
      HWY_UNROLL(6) for (int r = 0; r < R; ++r) {
        const auto x_scale = hn::Set(d, x.block(r, b).scale);
        total[r][0] = hn::MulAdd(hn::ConvertTo(d, sum[r][0]), hn::Mul(scale_0, x_scale), total[r][0]);
        total[r][1] = hn::MulAdd(hn::ConvertTo(d, sum[r][1]), hn::Mul(scale_1, x_scale), total[r][1]);
      }
    }
    if constexpr (std::is_same_v<Q, q4_k>) {
      const auto min_0 = hn::Load(d, panel->min), min_1 = hn::Load(d, panel->min + panel_lanes);
      HWY_UNROLL(6) for (int r = 0; r < R; ++r) {
        const auto x_sum = hn::Set(d, x.block(r, b).scaled_sum);
        total[r][0] = hn::NegMulAdd(min_0, x_sum, total[r][0]);
        total[r][1] = hn::NegMulAdd(min_1, x_sum, total[r][1]);
      }
    }
  }
  store_sums(out, out_stride, total);
}

template <class Q>
void product_of_bytes(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  const int64_t N = x.rows(), K = weight.rows(), blocks = weight.cols() / block_elements;
  const int64_t stride = blocks / blocks_in<Q>, row_bytes = stride * int64_t(sizeof(Q));
  PanelBlock<Q> memory[panel_blocks<Q>], *panel = memory;
  for (int64_t b = 0; b < blocks; b += panel_blocks<Q>)
    for (int64_t k = first; k < last; k += panel_width) {
      const int64_t n = std::min(panel_blocks<Q>, blocks - b), columns = std::min(panel_width, last - k);
      pack(panel, weight.data<Q>() + k * stride + b / blocks_in<Q>, columns, stride, n);
      const auto* next = static_cast<const uint8_t*>(weight.raw()) + (k + panel_width) * row_bytes;
      const Ahead ahead{next, std::clamp<int64_t>(last - k - panel_width, 0, panel_width), row_bytes};
      rows_with_panel<most_rows_of_bytes>(
          out.data() + k, columns, K, N, b > 0, [=, &x](int64_t row, auto R, float* o, int64_t row_stride) HWY_ATTR {
            const RowsOfX some{x.data() + row * x.cols(), x.cols()};
            tile_of_bytes<Q, R>(o, row_stride, some, b, panel, n, b > 0, ahead.share(row, R, N));
          });
    }
}

}  // namespace

bool packed_bytes(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  if (!RUNGS_DOT_INSTRUCTIONS && !uses_avx_vnni()) return false;
  switch (weight.dtype()) {
    case DType::q8_0:
      product_of_bytes<q8_0>(out, x, weight, first, last);
      break;
    case DType::q4_0:
      product_of_bytes<q4_0>(out, x, weight, first, last);
      break;
    case DType::q4_k:
      product_of_bytes<q4_k>(out, x, weight, first, last);
      break;
    default:
      product_of_bytes<q6_k>(out, x, weight, first, last);
  }
  return true;
}

#else

bool packed_bytes(Tensor&, const Tensor&, const Tensor&, int64_t, int64_t) { return false; }

#endif

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(packed_bytes);

bool packed_bytes_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  return HWY_DYNAMIC_DISPATCH(packed_bytes)(out, x, weight, first, last);
}

}  // namespace rungs
#endif
