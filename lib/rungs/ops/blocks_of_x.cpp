// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/blocks_of_x.cpp"
#include "rungs/ops/blocks_of_x.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

/// out = x in blocks.
void quantize_row(float* out, const float* x, int64_t C) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<int32_t, decltype(d)> ints;
  const hn::Rebind<int8_t, decltype(d)> bytes;
  const auto step = int64_t(hn::Lanes(d));
  auto* block = reinterpret_cast<BlockOfX*>(out);
  for (const float* end = x + C; x < end; x += block_elements, ++block) {
    auto largest = hn::Zero(d), unusable = hn::Zero(d);  // 0 times what is no finite number is NaN
    for (int64_t c = 0; c < block_elements; c += step) {
      const auto some = hn::LoadU(d, x + c);
      largest = hn::Max(largest, hn::Abs(some));
      unusable = hn::MulAdd(some, hn::Zero(d), unusable);
    }
    const float scale = hn::GetLane(hn::MaxOfLanes(d, largest)) / 127 + hn::GetLane(hn::SumOfLanes(d, unusable));
    const auto inverse = hn::Set(d, scale > 0x1p-126f ? 1 / scale : 0);  // of less it would be no finite number
    block->scale = scale;
    for (int64_t half = 0; half < 2; ++half) {
      auto sum = hn::Zero(ints);
      for (int64_t c = half * block_elements / 2; c < (half + 1) * block_elements / 2; c += step) {
        const auto numbers = hn::NearestInt(hn::Mul(hn::LoadU(d, x + c), inverse));
        hn::StoreU(hn::DemoteTo(bytes, numbers), bytes, block->q + c);
        sum = hn::Add(sum, numbers);
      }
      // Where x has what is no finite number the scale is NaN, and every product; the whole numbers are anything.
      block->sum[half] = std::isnan(scale) ? int16_t(0) : int16_t(hn::GetLane(hn::SumOfLanes(ints, sum)));
    }
    block->scaled_sum = float(block->sum[0] + block->sum[1]) * scale;
  }
}

}  // namespace

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(quantize_row);

void quantize_elements(float* out, const float* x, int64_t n) { HWY_DYNAMIC_DISPATCH(quantize_row)(out, x, n); }

void quantize_rows(Tensor& out, const Tensor& x, int64_t first, int64_t last) {
  for (int64_t n = first; n < last; ++n)
    HWY_DYNAMIC_DISPATCH(quantize_row)(out.data() + n * out.cols(), x.data() + n * x.cols(), x.cols());
}

}  // namespace rungs
#endif
