// For files that Highway compiles once for each kind of processor, and so included once for each.
#if defined(RUNGS_DOT_INSTRUCTIONS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNGS_DOT_INSTRUCTIONS_INL_HPP
#undef RUNGS_DOT_INSTRUCTIONS_INL_HPP
#else
#define RUNGS_DOT_INSTRUCTIONS_INL_HPP
#endif

#include <hwy/highway.h>

/// Whether the target has instructions that add up several products at once: of bytes it has (AVX-512 VNNI); of bf16 it
/// may have, and uses_bf16_dot() says whether it uses them. Neither Highway nor its flags know of them, so they
/// are named here.
#undef RUNGS_DOT_INSTRUCTIONS
#define RUNGS_DOT_INSTRUCTIONS (HWY_TARGET <= HWY_AVX3_DL)

/// Whether it has them for bytes at least: beside AVX2 a processor may (AVX-VNNI), and uses_avx_vnni() says whether it
/// uses them.
#undef RUNGS_BYTE_DOTS
#define RUNGS_BYTE_DOTS (RUNGS_DOT_INSTRUCTIONS || HWY_TARGET == HWY_AVX2)

#if RUNGS_BYTE_DOTS
HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

/// sum + w[4i] x[4i] + ... + w[4i + 3] x[4i + 3] in lane i.  w: bytes without a sign; x: with one, in 8 bits each
template <class Sum, class W, class X>
HWY_INLINE Sum add_dots_of_bytes(Sum sum, W w, X x) {
#if RUNGS_DOT_INSTRUCTIONS
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
#else  // the encoding of AVX-VNNI
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(w.raw), "x"(x.raw));
#endif
  return sum;
}

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if RUNGS_DOT_INSTRUCTIONS
HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Two bf16 in 32 bits, as many as an f32 vector has lanes.
using Pairs = hn::ScalableTag<uint32_t>;

/// sum + w[2i] x[2i] + w[2i + 1] x[2i + 1] in lane i: f32 sums of exact products.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> add_dots_of_bf16(hn::Vec<hn::ScalableTag<float>> sum, hn::Vec<Pairs> w,
                                                            hn::Vec<Pairs> x) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(w.raw), "v"(x.raw));
  return sum;
}

/// f32 rounded to bf16, to even: the upper halves of each 32 bits. What overflows is an infinity.
HWY_INLINE hn::Vec<Pairs> rounded(hn::Vec<hn::ScalableTag<float>> x) {
  const Pairs d;
  const hn::ScalableTag<float> floats;
  const auto bits = hn::BitCast(d, x), upper = hn::Set(d, 0xffff0000u);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto up = hn::And(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fff))), upper);
  const auto quiet = hn::And(hn::Or(bits, hn::Set(d, 0x400000)), upper);
  return hn::BitCast(d, hn::IfThenElse(hn::IsNaN(x), hn::BitCast(floats, quiet), hn::BitCast(floats, up)));
}

/// Neighbours side by side, from the upper halves.
HWY_INLINE hn::Vec<Pairs> paired(hn::Vec<Pairs> even, hn::Vec<Pairs> odd) {
  return hn::Or(hn::ShiftRight<16>(even), odd);
}

/// out = n pairs of x, rounded; n is a multiple of the lanes.
inline void round_pairs(float* out, const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < n; i += int64_t(hn::Lanes(d))) {
    hn::Vec<hn::ScalableTag<float>> even, odd;
    hn::LoadInterleaved2(d, x + 2 * i, even, odd);
    hn::StoreU(hn::BitCast(d, paired(rounded(even), rounded(odd))), d, out + i);
  }
}

/// The same where the processor rounds by itself (AVX-512 BF16). It takes what is below 2^-126 as 0, as its products
/// do.
inline void round_pairs_by_instruction(float* out, const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < n; i += int64_t(hn::Lanes(d))) {
    const auto first = hn::LoadU(d, x + 2 * i), second = hn::LoadU(d, x + 2 * i + int64_t(hn::Lanes(d)));
    auto both = first;
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both.raw) : "v"(first.raw), "v"(second.raw));
    hn::StoreU(both, d, out + i);
  }
}

/// Two vectors of x in two bf16 that add up to 17 bits of it: pairs of the upper parts, and of the lower ones.
HWY_INLINE void two_parts(float* upper, float* lower, const float* x) {
  const hn::ScalableTag<float> d;
  const auto rest = [=](hn::Vec<hn::ScalableTag<float>> v, hn::Vec<Pairs> of_v) HWY_ATTR {
    const auto left = hn::Sub(v, hn::BitCast(d, of_v));  // of what is no finite number there is none
    return rounded(hn::IfThenElseZero(hn::IsFinite(left), left));
  };
  hn::Vec<hn::ScalableTag<float>> even, odd;
  hn::LoadInterleaved2(d, x, even, odd);
  const auto upper_even = rounded(even), upper_odd = rounded(odd);
  hn::StoreU(hn::BitCast(d, paired(upper_even, upper_odd)), d, upper);
  hn::StoreU(hn::BitCast(d, paired(rest(even, upper_even), rest(odd, upper_odd))), d, lower);
}

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
