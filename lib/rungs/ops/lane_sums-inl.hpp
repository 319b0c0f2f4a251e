// For files that Highway compiles once for each kind of processor, and so included once for each.
#if defined(RUNGS_LANE_SUMS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNGS_LANE_SUMS_INL_HPP
#undef RUNGS_LANE_SUMS_INL_HPP
#else
#define RUNGS_LANE_SUMS_INL_HPP
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

/// out[0..3] = the sums of the lanes of four vectors of f32 or i32.
template <class V>
HWY_INLINE void store_sums_of_lanes(hn::TFromV<V>* out, V a, V b, V c, V e) {
  out[0] = hn::GetLane(a), out[1] = hn::GetLane(b), out[2] = hn::GetLane(c), out[3] = hn::GetLane(e);
}
template <class V>
HWY_INLINE void add_sums_of_lanes(hn::TFromV<V>* out, V a, V b, V c, V e) {
  out[0] += hn::GetLane(a), out[1] += hn::GetLane(b), out[2] += hn::GetLane(c), out[3] += hn::GetLane(e);
}

#else

/// From a0 a1 a2 a3 and b0 b1 b2 b3 in 128 bits: a0 + a2, b0 + b2, a1 + a3, b1 + b3.
template <class D, class V = hn::Vec<D> >
HWY_INLINE hn::Vec<hn::Repartition<uint64_t, D> > pairwise(D d, V a, V b) {
  const hn::Repartition<uint64_t, D> pairs;
  return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
}

/// The sums of the lanes of four vectors of f32 or i32: those of `a` first.
template <class D, class V = hn::Vec<D> >
HWY_INLINE hn::Vec<hn::FixedTag<hn::TFromD<D>, 4> > sums_of_lanes(D d, V a, V b, V c, V e) {
  const hn::Repartition<uint64_t, D> pairs;
  const auto ab = pairwise(d, a, b), ce = pairwise(d, c, e);
  const auto sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)),
                            hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)));  // a b c e, in each 128 bits
#if HWY_TARGET <= HWY_AVX3
  const hn::Half<D> half;
  const hn::Half<decltype(half)> quarter;
  const auto folded = hn::Add(hn::LowerHalf(half, sums), hn::UpperHalf(half, sums));
  return hn::Add(hn::LowerHalf(quarter, folded), hn::UpperHalf(quarter, folded));
#elif HWY_TARGET <= HWY_AVX2
  const hn::Half<D> half;
  return hn::Add(hn::LowerHalf(half, sums), hn::UpperHalf(half, sums));
#else
  return sums;
#endif
}

/// out[0..3] = those sums.
template <class V>
HWY_INLINE void store_sums_of_lanes(hn::TFromV<V>* out, V a, V b, V c, V e) {
  hn::StoreU(sums_of_lanes(hn::DFromV<V>(), a, b, c, e), hn::FixedTag<hn::TFromV<V>, 4>(), out);
}
/// out[0..3] += those sums.
template <class V>
HWY_INLINE void add_sums_of_lanes(hn::TFromV<V>* out, V a, V b, V c, V e) {
  const hn::FixedTag<hn::TFromV<V>, 4> d;
  hn::StoreU(hn::Add(hn::LoadU(d, out), sums_of_lanes(hn::DFromV<V>(), a, b, c, e)), d, out);
}

#endif

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
