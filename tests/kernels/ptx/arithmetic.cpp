// Arithmetic, comparisons, selections, logic and shifts: what a thread computes from registers alone.
// Whole numbers wrap around: this file is compiled with -fwrapv. Rounding is that of the processor, to nearest even,
// and nothing is contracted (-ffp-contract=off); f32 and f64 keep their subnormals, as PTX does without .ftz.
#include <bit>
#include <cfenv>
#include <cmath>

#include "table.hpp"

namespace rungs::ptx {
namespace {

template <class T>
inline constexpr u32 bits = sizeof(T) * 8;

__extension__ using s128 = __int128;
__extension__ using u128 = unsigned __int128;

/// Twice as wide.
template <class T>
using Wide = std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, s128, u128>,
                                std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, s64, u64>,
                                                   std::conditional_t<std::is_signed_v<T>, s32, u32>>>;

f32 flush(f32 x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

/// a · b + c rounded down.
f32 fma_down(f32 a, f32 b, f32 c) {
  const int mode = std::fegetround();
  std::fesetround(FE_DOWNWARD);
  const f32 result = std::fma(a, b, c);
  std::fesetround(mode);
  return result;
}

/// A float `ulps` units in the last place from `exact` or a little nearer, above or below as the bits of the argument
/// say. An infinity, a NaN, a zero and a subnormal stay.
f32 approximation(f64 exact, u32 ulps, f32 argument) {
  const f32 nearest = f32(exact);
  if (!std::isnormal(nearest)) return nearest;
  const u32 step = std::popcount(std::bit_cast<u32>(argument)) % 2 ? 1u : ~0u;
  const u32 bits = std::bit_cast<u32>(nearest) + ulps * step;
  const bool too_far = std::fabs(std::bit_cast<f32>(bits) - exact) > ulps * std::ldexp(1.0, std::ilogb(nearest) - 23);
  return std::bit_cast<f32>(too_far ? bits - step : bits);
}

/// 2^a, which the manual has as 1 for zeros and subnormals.
f32 power_of_two(f32 a) { return flush(a) == 0 ? 1 : approximation(std::exp2(f64(a)), 2, a); }

template <class T>
T quotient(T a, T b) {
  if (b == 0) return T(-1);                                // unspecified; what GPUs give
  if (std::is_signed_v<T> && b == T(-1)) return T(0) - a;  // the processor would trap
  return a / b;
}
template <class T>
T remainder_of(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == T(-1)) return 0;
  return a % b;
}

void add_integers(Table& t) {
  lines<u16, u32, u64, s16, s32, s64>(t, "add", "9.7.1.1", []<class T>(T a, T b) -> T { return a + b; });
  lines<u16, u32, u64, s16, s32, s64>(t, "sub", "9.7.1.2", []<class T>(T a, T b) -> T { return a - b; });
  lines<u16, u32, u64, s16, s32, s64>(t, "mul.lo", "9.7.1.3", []<class T>(T a, T b) -> T { return T(Wide<T>(a) * b); });
  lines<u32, u64, s32, s64>(t, "mul.hi", "9.7.1.3",
                            []<class T>(T a, T b) -> T { return T(Wide<T>(a) * b >> bits<T>); });
  lines<u16, u32, s16, s32>(t, "mul.wide", "9.7.1.3", []<class T>(T a, T b) -> Wide<T> { return Wide<T>(a) * b; });
  lines<u32, u64, s32, s64>(t, "mad.lo", "9.7.1.4", []<class T>(T a, T b, T c) -> T { return T(Wide<T>(a) * b) + c; });
  lines<u32, s32>(t, "mad.wide", "9.7.1.4", []<class T>(T a, T b, Wide<T> c) -> Wide<T> { return Wide<T>(a) * b + c; });
  lines<u16, u32, u64, s16, s32, s64>(t, "div", "9.7.1.8", []<class T>(T a, T b) -> T { return quotient(a, b); });
  lines<u16, u32, u64, s16, s32, s64>(t, "rem", "9.7.1.9", []<class T>(T a, T b) -> T { return remainder_of(a, b); });
  lines<s16, s32, s64>(t, "abs", "9.7.1.10", []<class T>(T a) -> T { return a < 0 ? T(0) - a : a; });
  lines<s16, s32, s64>(t, "neg", "9.7.1.11", []<class T>(T a) -> T { return T(0) - a; });
  lines<u16, u32, u64, s16, s32, s64>(t, "min", "9.7.1.12", []<class T>(T a, T b) -> T { return a < b ? a : b; });
  lines<u16, u32, u64, s16, s32, s64>(t, "max", "9.7.1.13", []<class T>(T a, T b) -> T { return a > b ? a : b; });
  bit_lines<u32, u64>(t, "bfi", "9.7.1.20", []<class T>(T field, T into, u32 position, u32 length) -> T {
    position &= 255, length &= 255;
    for (u32 i = 0; i < length && position + i < bits<T>; ++i) {
      const T bit = T(1) << (position + i);
      into = (field >> i & 1) ? into | bit : into & ~bit;
    }
    return into;
  });
}

void add_floats(Table& t) {
  for (const char* round : {"", ".rn"}) {  // to nearest even is what is meant without a word
    const std::string rn = round;
    lines<f32, f64>(t, "add" + rn, "9.7.3.3", []<class T>(T a, T b) -> T { return a + b; });
    lines<f32, f64>(t, "sub" + rn, "9.7.3.4", []<class T>(T a, T b) -> T { return a - b; });
    lines<f32, f64>(t, "mul" + rn, "9.7.3.5", []<class T>(T a, T b) -> T { return a * b; });
  }
  lines<f32, f64>(t, "fma.rn", "9.7.3.6", []<class T>(T a, T b, T c) -> T { return std::fma(a, b, c); });
  line(t, "fma.rm.f32", "9.7.3.6", [](f32 a, f32 b, f32 c) { return fma_down(a, b, c); });
  lines<f32, f64>(t, "div.rn", "9.7.3.8", []<class T>(T a, T b) -> T { return a / b; });
  lines<f32, f64>(t, "abs", "9.7.3.9", []<class T>(T a) -> T { return std::fabs(a); });
  lines<f32, f64>(t, "neg", "9.7.3.10", []<class T>(T a) -> T { return -a; });
  // Of a number and a NaN both give the number.
  lines<f32, f64>(t, "min", "9.7.3.11", []<class T>(T a, T b) -> T { return std::fmin(a, b); });
  lines<f32, f64>(t, "max", "9.7.3.12", []<class T>(T a, T b) -> T { return std::fmax(a, b); });
  lines<f32, f64>(t, "rcp.rn", "9.7.3.13", []<class T>(T a) -> T { return T(1) / a; });
  lines<f32, f64>(t, "sqrt.rn", "9.7.3.15", []<class T>(T a) -> T { return std::sqrt(a); });
  // Approximations, those that our kernels have as far off as the CUDA C++ Programming Guide allows ("Mathematical
  // Functions"): 2 units in the last place of rsqrtf and exp2f, 1 of a reciprocal. The others are the nearest float.
  line(t, "rcp.approx.f32", "9.7.3.13", [](f32 a) { return approximation(1.0 / a, 1, a); });
  line(t, "sqrt.approx.f32", "9.7.3.15", [](f32 a) { return f32(std::sqrt(f64(a))); });
  line(t, "rsqrt.approx.f32", "9.7.3.16", [](f32 a) { return approximation(1.0 / std::sqrt(f64(a)), 2, a); });
  line(t, "lg2.approx.f32", "9.7.3.20", [](f32 a) { return f32(std::log2(f64(a))); });
  line(t, "ex2.approx.f32", "9.7.3.21", [](f32 a) { return power_of_two(a); });
  line(t, "ex2.approx.ftz.f32", "9.7.3.21", [](f32 a) { return flush(power_of_two(a)); });
}

/// The comparisons that are false when an operand is a NaN.
template <class... T>
void add_ordered(Table& t) {
  lines<T...>(t, "setp.eq", "9.7.6.2", []<class U>(U a, U b) -> bool { return a == b; });
  lines<T...>(t, "setp.ne", "9.7.6.2", []<class U>(U a, U b) -> bool { return a < b || a > b; });
  lines<T...>(t, "setp.lt", "9.7.6.2", []<class U>(U a, U b) -> bool { return a < b; });
  lines<T...>(t, "setp.le", "9.7.6.2", []<class U>(U a, U b) -> bool { return a <= b; });
  lines<T...>(t, "setp.gt", "9.7.6.2", []<class U>(U a, U b) -> bool { return a > b; });
  lines<T...>(t, "setp.ge", "9.7.6.2", []<class U>(U a, U b) -> bool { return a >= b; });
}

void add_comparisons(Table& t) {
  add_ordered<u16, u32, u64, s16, s32, s64, f32, f64>(t);
  bit_lines<u16, u32, u64>(t, "setp.eq", "9.7.6.2", []<class T>(T a, T b) -> bool { return a == b; });
  bit_lines<u16, u32, u64>(t, "setp.ne", "9.7.6.2", []<class T>(T a, T b) -> bool { return a != b; });
  // These are true when an operand is a NaN.
  lines<f32, f64>(t, "setp.equ", "9.7.6.2", []<class T>(T a, T b) -> bool { return !(a < b || a > b); });
  lines<f32, f64>(t, "setp.neu", "9.7.6.2", []<class T>(T a, T b) -> bool { return !(a == b); });
  lines<f32, f64>(t, "setp.ltu", "9.7.6.2", []<class T>(T a, T b) -> bool { return !(a >= b); });
  lines<f32, f64>(t, "setp.leu", "9.7.6.2", []<class T>(T a, T b) -> bool { return !(a > b); });
  lines<f32, f64>(t, "setp.gtu", "9.7.6.2", []<class T>(T a, T b) -> bool { return !(a <= b); });
  lines<f32, f64>(t, "setp.geu", "9.7.6.2", []<class T>(T a, T b) -> bool { return !(a < b); });
  lines<f32, f64>(t, "setp.num", "9.7.6.2", []<class T>(T a, T b) -> bool { return a == a && b == b; });
  lines<f32, f64>(t, "setp.nan", "9.7.6.2", []<class T>(T a, T b) -> bool { return a != a || b != b; });
  const auto choose = []<class T>(T a, T b, bool first) -> T { return first ? a : b; };
  lines<u16, u32, u64, s16, s32, s64, f32, f64>(t, "selp", "9.7.6.3", choose);
  bit_lines<u16, u32, u64>(t, "selp", "9.7.6.3", choose);
}

void add_logic(Table& t) {
  bit_lines<u16, u32, u64>(t, "and", "9.7.8.1", []<class T>(T a, T b) -> T { return a & b; });
  bit_lines<u16, u32, u64>(t, "or", "9.7.8.2", []<class T>(T a, T b) -> T { return a | b; });
  bit_lines<u16, u32, u64>(t, "xor", "9.7.8.3", []<class T>(T a, T b) -> T { return a ^ b; });
  bit_lines<u16, u32, u64>(t, "not", "9.7.8.4", []<class T>(T a) -> T { return ~a; });
  line(t, "and.pred", "9.7.8.1", [](bool a, bool b) { return a && b; });
  line(t, "or.pred", "9.7.8.2", [](bool a, bool b) { return a || b; });
  line(t, "xor.pred", "9.7.8.3", [](bool a, bool b) { return a != b; });
  line(t, "not.pred", "9.7.8.4", [](bool a) { return !a; });
  // A shift by more than the width is one by the width.
  bit_lines<u16, u32, u64>(t, "shl", "9.7.8.8",
                           []<class T>(T a, u32 n) -> T { return n < bits<T> ? T(a << n) : T(0); });
  const auto right = []<class T>(T a, u32 n) -> T {
    return n < bits<T> ? T(a >> n) : T(std::is_signed_v<T> && a < T(0) ? -1 : 0);
  };
  lines<u16, u32, u64, s16, s32, s64>(t, "shr", "9.7.8.9", right);
  bit_lines<u16, u32, u64>(t, "shr", "9.7.8.9", right);
}

}  // namespace

void add_arithmetic(Table& table) {
  add_integers(table);
  add_floats(table);
  add_comparisons(table);
  add_logic(table);
}

}  // namespace rungs::ptx
