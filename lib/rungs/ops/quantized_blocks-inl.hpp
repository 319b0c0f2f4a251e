// For files that Highway compiles once for each kind of processor, and so included once for each.
#if defined(RUNGS_QUANTIZED_BLOCKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNGS_QUANTIZED_BLOCKS_INL_HPP
#undef RUNGS_QUANTIZED_BLOCKS_INL_HPP
#else
#define RUNGS_QUANTIZED_BLOCKS_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "rungs/tensor/dtype.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Blocks of x in one of the weight.
template <class Q>
constexpr int64_t blocks_in = elements_of_block(dtype_of<Q>) / block_elements;

/// Groups with a scale of their own in a block of x.
template <class Q>
constexpr int groups_in = std::is_same_v<Q, q6_k> ? 2 : 1;

/// So much more than they are the numbers are read as, where they are read without a sign. (Those of q4_k have none;
/// their min is taken off in f32.)
template <class Q>
constexpr int offset_of = std::is_same_v<Q, q8_0>   ? 128
                          : std::is_same_v<Q, q4_0> ? 8
                          : std::is_same_v<Q, q6_k> ? 32
                                                    : 0;

#if HWY_TARGET != HWY_SCALAR

/// v[2i] f[2i] + v[2i + 1] f[2i + 1], in 32 bits.  v, f: 16 bits each
template <class D>
HWY_INLINE hn::Vec<D> sums_of_pairs(D d, hn::Vec<hn::Repartition<int16_t, D>> v,
                                    hn::Vec<hn::Repartition<int16_t, D>> f) {
  auto others = hn::Zero(d);
  const auto some = hn::ReorderWidenMulAccumulate(d, v, f, others, others);
  return hn::RearrangeToOddPlusEven(some, others);
}

/// The two sums of a block of x (BlockOfX), of which those that group g of the weight meets are multiplied by `factor`
/// and added up.
template <class Q, class D>
HWY_INLINE hn::Vec<D> sum_of_x(D d, int32_t both, int g, int factor) {
  const hn::Repartition<int16_t, D> halves;
  const uint32_t f = uint16_t(factor);
  const uint32_t factors = groups_in<Q> == 1 ? f << 16 | f : f << 16 * g;
  return sums_of_pairs(d, hn::BitCast(halves, hn::Set(d, both)), hn::BitCast(halves, hn::Set(d, int32_t(factors))));
}

/// The f16 in the lower halves of 32 bits, as f32.
template <class D>
HWY_INLINE hn::Vec<D> lower_halves(D d, hn::Vec<hn::RebindToSigned<D>> v) {
  const hn::RebindToSigned<D> whole;
  const hn::Rebind<uint16_t, D> bits;
  const hn::Rebind<hwy::float16_t, D> halves;
  return hn::PromoteTo(d, hn::BitCast(halves, hn::DemoteTo(bits, hn::And(v, hn::Set(whole, 0xffff)))));
}
/// Those in the upper halves.
template <class D>
HWY_INLINE hn::Vec<D> upper_halves(D d, hn::Vec<hn::RebindToSigned<D>> v) {
  const hn::RebindToSigned<D> whole;
  const hn::RebindToUnsigned<D> bits;
  return lower_halves(d, hn::BitCast(whole, hn::ShiftRight<16>(hn::BitCast(bits, v))));
}

/// What 6 bits say of group `part`, as group_of() in tensor/quantize.hpp does: of as many blocks as d has lanes.
/// words[1] to words[3]: `groups` of each
template <class D>
HWY_INLINE void six_bits_of_group(D d, const hn::Vec<D> (&words)[4], int64_t part, hn::Vec<D>& scale, hn::Vec<D>& min) {
  const int shift = int(part % 4 * 8);
  scale = hn::ShiftRightSame(words[1], shift), min = hn::ShiftRightSame(words[2], shift);
  if (part < 4) {
    scale = hn::And(scale, hn::Set(d, 63)), min = hn::And(min, hn::Set(d, 63));
  } else {
    const auto low = hn::ShiftRightSame(words[3], shift);
    const auto fifteen = hn::Set(d, 15), upper = hn::Set(d, 0x30);
    scale = hn::Or(hn::And(low, fifteen), hn::And(hn::ShiftRight<2>(scale), upper));
    min = hn::Or(hn::And(hn::ShiftRight<4>(low), fifteen), hn::And(hn::ShiftRight<2>(min), upper));
  }
}

/// Numbers 0 to 63 of q6_k, of the quarter `quarter` of a half: their four bits and their two.  d: bytes
template <class D>
HWY_INLINE hn::Vec<D> six_bits(D d, hn::Vec<D> low, hn::Vec<D> high, int64_t quarter) {
  const hn::Repartition<uint16_t, D> pairs;
  const auto four = quarter < 2 ? hn::And(low, hn::Set(d, 15)) : hn::ShiftRight<4>(low);
  const auto two = hn::ShiftRightSame(hn::BitCast(pairs, high), int(2 * quarter));
  return hn::Or(four, hn::And(hn::BitCast(d, hn::ShiftLeft<4>(two)), hn::Set(d, 0x30)));
}

#endif

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
