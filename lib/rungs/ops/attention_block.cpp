// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/attention_block.cpp"
#include "rungs/ops/attention_block.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// Once for each kind of processor, too, so after foreach_target.h.
#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <cmath>

#include "rungs/ops/panel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

int64_t width_of_panel() { return panel_width; }

void transpose_into_panels(float* out, const float* keys, int64_t n, int64_t D, int64_t stride) {
  for (int64_t first = 0; first < n; first += panel_width, out += D * panel_width) {
    const int64_t some = std::min(panel_width, n - first);
    int64_t whole = 0;  // columns
#if HWY_TARGET != HWY_SCALAR
    if (some == panel_width) {
      whole = D / 4 * 4;
      for_columns(keys + first * stride, stride * int64_t(sizeof(float)), whole,
                  [=](int64_t c, int64_t k, hn::Vec<PanelBits> column) HWY_ATTR {
                    hn::Store(hn::BitCast(PanelLanes(), column), PanelLanes(), out + c * panel_width + k);
                  });
    }
#endif
    for (int64_t c = whole; c < D; ++c)
      for (int64_t k = 0; k < panel_width; ++k)
        out[c * panel_width + k] = k < some ? keys[(first + k) * stride + c] : 0;
  }
}

/// R rows of one panel; a function of its own, as in packed_product.cpp.
template <int R>
HWY_NOINLINE void tile(float* out, int64_t out_stride, const float* x, int64_t x_stride, int64_t n, const float* b,
                       int64_t row_step, bool adds) {
  const PanelLanes d;
  hn::Vec<PanelLanes> sum[R][2];
  begin_sums(sum, out, out_stride, adds);
  for (int64_t i = 0; i < n; ++i, b += row_step) {
    const auto b_0 = hn::LoadU(d, b), b_1 = hn::LoadU(d, b + panel_lanes);
    HWY_UNROLL(12) for (int r = 0; r < R; ++r) {
      const auto x_r = hn::Set(d, x[r * x_stride + i]);
      sum[r][0] = hn::MulAdd(x_r, b_0, sum[r][0]);
      sum[r][1] = hn::MulAdd(x_r, b_1, sum[r][1]);
    }
  }
  store_sums(out, out_stride, sum);
}

void product(float* out, int64_t out_stride, const float* x, int64_t x_stride, int64_t rows, int64_t n, const Panels& b,
             int64_t columns, bool adds) {
  const Tiles tiles{rows, rows_in_registers};
  for (int64_t c = 0; c < columns; c += panel_width)
    for (int64_t t = 0; t < tiles.count; ++t)
      with_constant<rows_in_registers>(tiles.rows(t), [&](auto R) HWY_ATTR {
        tile<R>(out + tiles.first(t) * out_stride + c, out_stride, x + tiles.first(t) * x_stride, x_stride, n,
                b.data + c * b.column_step, b.row_step, adds);
      });
}

/// Every sixteenth weight goes into one sum, however many a vector holds: so the sum is the same on all processors.
constexpr int64_t sums_of_weights = 16;

float weigh_row(float* scores, int64_t n, float& largest, float& sum) {
  const PanelLanes d;
  auto most = hn::Set(d, largest);
  for (int64_t i = 0; i < n; i += panel_lanes) most = hn::Max(most, hn::LoadU(d, scores + i));
  const float before = largest;
  largest = hn::GetLane(hn::MaxOfLanes(d, most));
  if (largest == -HUGE_VALF) {  // no key has a weight yet
    std::fill_n(scores, n, 0.0f);
    return 1;
  }
  const auto shift = hn::Set(d, largest);
  float sums[sums_of_weights] = {};
  for (int64_t first = 0; first < sums_of_weights; first += panel_lanes) {
    auto weights = hn::Zero(d);
    for (int64_t i = first; i < n; i += sums_of_weights) {
      const auto x = hn::Sub(hn::LoadU(d, scores + i), shift);
      const auto weight = hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));  // Highway's of NaN is 0
      hn::StoreU(weight, d, scores + i);
      weights = hn::Add(weights, weight);
    }
    hn::StoreU(weights, d, sums + first);
  }
  for (int64_t half = sums_of_weights / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  const float factor = std::exp(before - largest);
  sum = sum * factor + sums[0];
  return factor;
}

}  // namespace

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(width_of_panel);
HWY_EXPORT(transpose_into_panels);
HWY_EXPORT(product);
HWY_EXPORT(weigh_row);

int64_t in_whole_panels(int64_t n) {
  const int64_t width = HWY_DYNAMIC_DISPATCH(width_of_panel)();
  return (n + width - 1) / width * width;
}

Panels transposed_panels(float* room, const float* keys, int64_t n, int64_t D, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(transpose_into_panels)(room, keys, n, D, stride);
  return {room, in_whole_panels(1), D};
}

void product_with_panels(float* out, int64_t out_stride, const float* x, int64_t x_stride, int64_t rows, int64_t n,
                         const Panels& b, int64_t columns, bool adds) {
  HWY_DYNAMIC_DISPATCH(product)(out, out_stride, x, x_stride, rows, n, b, columns, adds);
}

float weigh(float* scores, int64_t n, float& largest, float& sum) {
  return HWY_DYNAMIC_DISPATCH(weigh_row)(scores, n, largest, sum);
}

}  // namespace rungs
#endif
