// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/upcast.cpp"
#include "rungs/ops/upcast.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "rungs/ops/floats.hpp"
#include "rungs/tensor/quantize.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

using Floats = hn::ScalableTag<float>;

HWY_INLINE hn::Vec<Floats> some(const float* x) { return hn::LoadU(Floats(), x); }

HWY_INLINE hn::Vec<Floats> some(const bf16* x) {
  const hn::Rebind<uint16_t, Floats> halves;
  const hn::RebindToUnsigned<Floats> bits;
  const auto upper = hn::PromoteTo(bits, hn::LoadU(halves, reinterpret_cast<const uint16_t*>(x)));
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(upper));
}

#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM
HWY_INLINE hn::Vec<Floats> some(const f16* x) {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  return hn::PromoteTo(Floats(), hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(x)));
}
#else  // Highway's own way, without an instruction for it, makes a number of an infinity
HWY_INLINE hn::Vec<Floats> some(const f16* x) {
  HWY_ALIGN float values[hn::MaxLanes(Floats())];
  for (size_t i = 0; i < hn::Lanes(Floats()); ++i) values[i] = value_of(x[i]);
  return hn::Load(Floats(), values);
}
#endif

/// out = elements [first, first + n).
template <class W>
void row(float* out, const W* x, int64_t first, int64_t n) {
  int64_t i = 0;
  if constexpr (constexpr int64_t size = elements_of_block(dtype_of<W>); size > 1) {
    for (; i < n; ++i) out[i] = value_of(x[(first + i) / size], (first + i) % size);
  } else {
    const auto step = int64_t(hn::Lanes(Floats()));
    for (; i + step <= n; i += step) hn::StoreU(some(x + first + i), Floats(), out + i);
    for (; i < n; ++i) out[i] = value_of(x[first + i]);
  }
}

/// What a cache is read with.
void row(float* out, const q8_0* x, int64_t first, int64_t n) {
  const hn::Rebind<int8_t, Floats> bytes;
  const hn::Rebind<int32_t, Floats> ints;
  const q8_0* block = x + first / block_elements;
  for (const float* end = out + n; out < end; ++block) {
    const auto scale = hn::Set(Floats(), to_float(block->scale));
    for (int64_t i = 0; i < block_elements; i += int64_t(hn::Lanes(Floats())), out += hn::Lanes(Floats())) {
      const auto q = hn::ConvertTo(Floats(), hn::PromoteTo(ints, hn::LoadU(bytes, block->q + i)));
      hn::StoreU(hn::Mul(scale, q), Floats(), out);
    }
  }
}

void upcast_rows(float* out, const Tensor& x, int64_t first, int64_t n, int64_t rows, int64_t stride) {
  const auto all = [=](const auto* elements) {
    for (int64_t r = 0; r < rows; ++r) row(out + r * n, elements, first + r * stride, n);
  };
  switch (x.dtype()) {
    case DType::q8_0:
      return all(x.data<q8_0>());
    case DType::q4_0:
      return all(x.data<q4_0>());
    case DType::q4_k:
      return all(x.data<q4_k>());
    case DType::q6_k:
      return all(x.data<q6_k>());
    default:
      return with_floats(x, all);
  }
}

}  // namespace

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(upcast_rows);

void upcast(float* out, const Tensor& x, int64_t first, int64_t n, int64_t rows, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(upcast_rows)(out, x, first, n, rows, stride);
}

}  // namespace rungs
#endif
