/// The mathematical functions of a kernel that the C library does not have, and loads that say how they use the cache.
/// Those that our kernels use are off by as much as the CUDA C++ Programming Guide allows ("Mathematical Functions"),
/// so that what holds here holds on a GPU. The other fast ones (__logf) are as exact as the plain ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <type_traits>

#include "kernels/emulator/language/qualifiers.hpp"

namespace rungs::emulator {

/// A positive result off by `ulps` units in the last place, up or down as a hash of the argument says. A result that is
/// no finite number, or zero, stays.
inline float within(int ulps, float result, float argument) {
  const auto bits = std::bit_cast<int>(result);
  constexpr int infinity = 0x7f800000;
  if (bits <= 0 || bits >= infinity) return result;
  const bool up = std::bit_cast<unsigned>(argument) * 2654435761u >> 31;
  return std::bit_cast<float>(std::clamp(up ? bits + ulps : bits - ulps, 0, infinity - 1));
}

}  // namespace rungs::emulator

extern "C" {  // the C library may declare these names itself
/// Off by 2 + ⌊1.173 · |x|⌋. exp(0) is 1: the PTX manual says so of ex2.approx.
inline float __expf(float x) noexcept {
  const double size = std::fmin(std::fabs(double(x)), 104.0);  // beyond, the result is 0 or infinite
  const auto result = float(std::exp(double(x)));
  return x == 0 ? result : rungs::emulator::within(2 + int(1.173 * size), result, x);
}
inline float __exp10f(float x) noexcept { return std::pow(10.0f, x); }
inline float __logf(float x) noexcept { return std::log(x); }
inline float __log2f(float x) noexcept { return std::log2(x); }
inline float __log10f(float x) noexcept { return std::log10(x); }
inline float __sinf(float x) noexcept { return std::sin(x); }
inline float __cosf(float x) noexcept { return std::cos(x); }
inline float __tanf(float x) noexcept { return std::tan(x); }
inline float __powf(float x, float y) noexcept { return std::pow(x, y); }
inline float rsqrtf(float x) noexcept { return rungs::emulator::within(2, float(1 / std::sqrt(double(x))), x); }
inline double rsqrt(double x) noexcept { return 1.0 / std::sqrt(x); }
}

__forceinline__ void __sincosf(float x, float* sine, float* cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
__forceinline__ float __fdividef(float a, float b) { return a / b; }
__forceinline__ float __fdiv_rn(float a, float b) { return a / b; }
__forceinline__ float __frcp_rn(float a) { return 1.0f / a; }
__forceinline__ float __frsqrt_rn(float a) { return float(1 / std::sqrt(double(a))); }
__forceinline__ float __fsqrt_rn(float a) { return std::sqrt(a); }
__forceinline__ float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
__forceinline__ float __fadd_rn(float a, float b) { return a + b; }
__forceinline__ float __fsub_rn(float a, float b) { return a - b; }
__forceinline__ float __fmul_rn(float a, float b) { return a * b; }
__forceinline__ float __saturatef(float a) { return a > 0 ? (a < 1 ? a : 1) : 0; }
__forceinline__ int __float2int_rn(float a) { return int(std::nearbyint(a)); }
__forceinline__ int __float2int_rz(float a) { return int(a); }
__forceinline__ float __int2float_rn(int a) { return float(a); }

__forceinline__ int __float_as_int(float a) { return std::bit_cast<int>(a); }
__forceinline__ unsigned __float_as_uint(float a) { return std::bit_cast<unsigned>(a); }
__forceinline__ float __int_as_float(int a) { return std::bit_cast<float>(a); }
__forceinline__ float __uint_as_float(unsigned a) { return std::bit_cast<float>(a); }
__forceinline__ long long __double_as_longlong(double a) { return std::bit_cast<long long>(a); }
__forceinline__ double __longlong_as_double(long long a) { return std::bit_cast<double>(a); }

__forceinline__ int __popc(unsigned a) { return __builtin_popcount(a); }
__forceinline__ int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
__forceinline__ int __clz(int a) { return a ? __builtin_clz(unsigned(a)) : 32; }
__forceinline__ int __ffs(int a) { return __builtin_ffs(a); }
__forceinline__ unsigned __brev(unsigned a) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (a >> i & 1u) << (31 - i);
  return reversed;
}
__forceinline__ unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((static_cast<unsigned long long>(a) * b) >> 32);
}
/// Four products of bytes, added to c.
__forceinline__ int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += int(static_cast<signed char>(a >> i)) * int(static_cast<signed char>(b >> i));
  return c;
}

#define RUNGS_MIN_MAX(T)                                              \
  __forceinline__ constexpr T max(T a, T b) { return a > b ? a : b; } \
  __forceinline__ constexpr T min(T a, T b) { return a < b ? a : b; }
RUNGS_MIN_MAX(int)
RUNGS_MIN_MAX(unsigned)
RUNGS_MIN_MAX(long)
RUNGS_MIN_MAX(unsigned long)
RUNGS_MIN_MAX(long long)
RUNGS_MIN_MAX(unsigned long long)
#undef RUNGS_MIN_MAX
__forceinline__ float max(float a, float b) { return std::fmax(a, b); }
__forceinline__ float min(float a, float b) { return std::fmin(a, b); }
__forceinline__ double max(double a, double b) { return std::fmax(a, b); }
__forceinline__ double min(double a, double b) { return std::fmin(a, b); }

namespace rungs::emulator {

/// Fails unless `address` is a multiple of `alignment`, as the hardware does.
void require_aligned(const void* address, size_t alignment, const char* operation);

/// The same for a number of something.
void require_multiple(size_t value, size_t of, const char* operation, const char* what);

/// The running thread's place in its warp.
int lane_index();

[[noreturn]] void trap();

/// A load or store of 8 or 16 bytes through an explicit function. One of 4 is cheaper to do than to check.
template <class T>
__forceinline__ T* aligned(T* p, const char* operation) {
  if constexpr (sizeof(T) >= 8) require_aligned(p, sizeof(T) < 16 ? sizeof(T) : 16, operation);
  return p;
}

}  // namespace rungs::emulator

template <class T>
__forceinline__ T __ldg(const T* p) {
  return *rungs::emulator::aligned(p, "__ldg");
}
template <class T>
__forceinline__ T __ldcs(const T* p) {
  return *rungs::emulator::aligned(p, "__ldcs");
}
template <class T>
__forceinline__ T __ldcg(const T* p) {
  return *rungs::emulator::aligned(p, "__ldcg");
}
template <class T>
__forceinline__ void __stcs(T* p, std::type_identity_t<T> v) {
  *rungs::emulator::aligned(p, "__stcs") = v;
}
template <class T>
__forceinline__ void __stcg(T* p, std::type_identity_t<T> v) {
  *rungs::emulator::aligned(p, "__stcg") = v;
}

inline long long clock64() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000ll + t.tv_nsec;
}
[[noreturn]] inline void __trap() { rungs::emulator::trap(); }
