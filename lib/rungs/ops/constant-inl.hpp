// For files that Highway compiles once for each kind of processor, and so included once for each.
#if defined(RUNGS_CONSTANT_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNGS_CONSTANT_INL_HPP
#undef RUNGS_CONSTANT_INL_HPP
#else
#define RUNGS_CONSTANT_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

/// run(n) with an n from 1 to `most` that the compiler knows, so that what n rows need can stand in registers.
template <int most, class Run>
HWY_INLINE void with_constant(int64_t n, const Run& run) {
  if (n == most) return run(std::integral_constant<int, most>());
  if constexpr (most > 1) with_constant<most - 1>(n, run);
}

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
