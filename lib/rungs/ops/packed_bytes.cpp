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
#include "rungs/ops/quantized_product.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if RUNGS_BYTE_DOTS

namespace {

using WholeLanes = hn::RebindToSigned<PanelLanes>;

/// The numbers are read without a sign: so much more than they are.
template <class Q>
constexpr int offset_of = std::is_same_v<Q, q8_0> ? 128 : 8;

/// A block of each row of a panel: number[i] has numbers 4 i to 4 i + 3 of every row.
struct PanelBlock {
  HWY_ALIGN uint8_t number[block_elements / 4][4 * panel_width];
  HWY_ALIGN float scale[panel_width];
};

constexpr int64_t panel_blocks = 28;  ///< as many as the nearest cache holds beside some of x

HWY_INLINE void store_four(uint8_t* out, hn::Vec<PanelBits> v) {
  hn::Store(v, PanelBits(), reinterpret_cast<uint32_t*>(out));
}

HWY_INLINE void unpack(PanelBlock& out, int64_t at, const uint8_t* const* quad, int64_t stride, const q8_0*) {
  HWY_UNROLL(2) for (int h = 0; h < 2; ++h) {
    const uint8_t* numbers[panel_lanes / 4];
    for (int64_t i = 0; i < panel_lanes / 4; ++i) numbers[i] = quad[i] + offsetof(q8_0, q) + 16 * h;
    hn::Vec<PanelBits> some[4];
    transpose(numbers, stride, some);
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i)
      store_four(out.number[4 * h + i] + at, hn::Xor(some[i], hn::Set(PanelBits(), 0x80808080u)));
  }
}

HWY_INLINE void unpack(PanelBlock& out, int64_t at, const uint8_t* const* quad, int64_t stride, const q4_0*) {
  const uint8_t* numbers[panel_lanes / 4];
  for (int64_t i = 0; i < panel_lanes / 4; ++i) numbers[i] = quad[i] + offsetof(q4_0, q);
  hn::Vec<PanelBits> some[4];
  transpose(numbers, stride, some);
  const auto low = hn::Set(PanelBits(), 0x0f0f0f0fu);
  HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
    store_four(out.number[i] + at, hn::And(some[i], low));
    store_four(out.number[4 + i] + at, hn::And(hn::ShiftRight<4>(some[i]), low));
  }
}

/// n blocks of panel_width rows of w, which are `stride` blocks apart.
template <class Q>
void pack(PanelBlock* panel, const Q* w, int64_t stride, int64_t n) {
  const hn::Rebind<uint16_t, PanelLanes> halves;
  const hn::Rebind<hwy::float16_t, PanelLanes> f16s;
  const auto bytes = stride * int64_t(sizeof(Q));
  const auto rows = hn::Mul(hn::Iota(WholeLanes(), 0), hn::Set(WholeLanes(), int32_t(bytes)));
  const auto low = hn::Set(WholeLanes(), 0xffff);
  for (int64_t k = 0; k < panel_width; k += panel_lanes)
    for (int64_t b = 0; b < n; ++b) {
      const uint8_t* quad[panel_lanes / 4];
      for (int64_t i = 0; i < panel_lanes / 4; ++i)
        quad[i] = reinterpret_cast<const uint8_t*>(w + (k + 4 * i) * stride + b);
      unpack(panel[b], 4 * k, quad, bytes, w);
      const auto scales = hn::GatherOffset(WholeLanes(), reinterpret_cast<const int32_t*>(quad[0]), rows);
      const auto f16 = hn::BitCast(f16s, hn::DemoteTo(halves, hn::And(scales, low)));
      hn::Store(hn::PromoteTo(PanelLanes(), f16), PanelLanes(), panel[b].scale + k);
    }
}

/// The same of fewer rows: the last stands for those that are missing.
template <class Q>
void pack(PanelBlock* panel, const Q* w, int64_t rows, int64_t stride, int64_t n) {
  if (rows == panel_width) return pack(panel, w, stride, n);
  Q all[panel_width * panel_blocks];
  for (int64_t k = 0; k < panel_width; ++k) std::copy_n(w + std::min(k, rows - 1) * stride, n, all + k * n);
  pack(panel, static_cast<const Q*>(all), n, n);
}

/// Rows of x whose sums stand in registers, as whole numbers and, where there are 32, as f32.
constexpr int most_rows_of_bytes = RUNGS_DOT_INSTRUCTIONS ? 6 : 4;

/// out (R, panel_width) = the sums of R rows of x, from block b of each, with n blocks, added to out if it `adds`.
template <class Q, int R>
HWY_NOINLINE void tile_of_bytes(float* out, int64_t out_stride, const RowsOfX& x, int64_t b, const PanelBlock* panel,
                                int64_t n, bool adds, const Ahead& ahead) {
  const PanelLanes d;
  const WholeLanes whole;
  const hn::Repartition<uint8_t, PanelLanes> bytes;
  hn::Vec<PanelLanes> total[R][2];
  begin_sums(total, out, out_stride, adds);
  for (const PanelBlock* end = panel + n; panel < end; ++panel, ++b) {
    for (int64_t k = 0; k < ahead.rows; ++k) hwy::Prefetch(ahead.first + k * ahead.row_bytes + b * int64_t(sizeof(Q)));
    hn::Vec<WholeLanes> sum[R][2];
    HWY_UNROLL(6)
    for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = hn::Set(whole, -offset_of<Q> * int32_t(x.block(r, b).sum));
    HWY_UNROLL(8) for (int i = 0; i < int(block_elements) / 4; ++i) {
      const auto w_0 = hn::Load(bytes, panel->number[i]), w_1 = hn::Load(bytes, panel->number[i] + 4 * panel_lanes);
      HWY_UNROLL(6) for (int r = 0; r < R; ++r) {
        const auto x_r = hn::Set(whole, reinterpret_cast<const int32_t*>(x.block(r, b).q)[i]);
        sum[r][0] = add_dots_of_bytes(sum[r][0], w_0, x_r);
        sum[r][1] = add_dots_of_bytes(sum[r][1], w_1, x_r);
      }
    }
    const auto scale_0 = hn::Load(d, panel->scale), scale_1 = hn::Load(d, panel->scale + panel_lanes);
    HWY_UNROLL(6) for (int r = 0; r < R; ++r) {
      const auto x_scale = hn::Set(d, x.block(r, b).scale);
      total[r][0] = hn::MulAdd(hn::ConvertTo(d, sum[r][0]), hn::Mul(scale_0, x_scale), total[r][0]);
      total[r][1] = hn::MulAdd(hn::ConvertTo(d, sum[r][1]), hn::Mul(scale_1, x_scale), total[r][1]);
    }
  }
  store_sums(out, out_stride, total);
}

template <class Q>
void product_of_bytes(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  const int64_t N = x.rows(), K = weight.rows(), blocks = weight.cols() / block_elements;
  PanelBlock memory[panel_blocks], *panel = memory;
  for (int64_t b = 0; b < blocks; b += panel_blocks)
    for (int64_t k = first; k < last; k += panel_width) {
      const int64_t n = std::min(panel_blocks, blocks - b), columns = std::min(panel_width, last - k);
      pack(panel, weight.data<Q>() + k * blocks + b, columns, blocks, n);
      const int64_t row_bytes = blocks * int64_t(sizeof(Q));
      const auto* next = static_cast<const uint8_t*>(weight.raw()) + (k + panel_width) * row_bytes;
      const Ahead ahead{next, std::clamp<int64_t>(last - k - panel_width, 0, panel_width), row_bytes};
      rows_with_panel<most_rows_of_bytes>(
          out.data() + k, columns, K, N, b > 0, [=, &x](int64_t row, auto R, float* o, int64_t stride) HWY_ATTR {
            const RowsOfX some{x.data() + row * x.cols(), x.cols()};
            tile_of_bytes<Q, R>(o, stride, some, b, panel, n, b > 0, ahead.share(row, R, N));
          });
    }
}

}  // namespace

bool packed_bytes(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  if (!RUNGS_DOT_INSTRUCTIONS && !uses_avx_vnni()) return false;
  if (weight.dtype() == DType::q8_0)
    product_of_bytes<q8_0>(out, x, weight, first, last);
  else if (weight.dtype() == DType::q4_0)
    product_of_bytes<q4_0>(out, x, weight, first, last);
  else
    return false;
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
