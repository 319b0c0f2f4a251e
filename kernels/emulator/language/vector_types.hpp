/// float4 and its family, dim3, and the variables by which a thread knows its place.
#pragma once

#include "kernels/emulator/language/qualifiers.hpp"

// Kernels read four floats as one float4. In C++ that breaks the aliasing rules, so the types say may_alias; the
// alignment is the one that a GPU demands.
#define RUNGS_VECTOR(T, name, alignment2, alignment4)                                   \
  struct name##1 {                                                                      \
    T x;                                                                                \
  };                                                                                    \
  struct __attribute__((may_alias, aligned(alignment2))) name##2 {                      \
    T x, y;                                                                             \
  };                                                                                    \
  struct name##3 {                                                                      \
    T x, y, z;                                                                          \
  };                                                                                    \
  struct __attribute__((may_alias, aligned(alignment4))) name##4 {                      \
    T x, y, z, w;                                                                       \
  };                                                                                    \
  __forceinline__ constexpr name##1 make_##name##1(T x) { return {x}; }                 \
  __forceinline__ constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  __forceinline__ constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  __forceinline__ constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
RUNGS_VECTOR(signed char, char, 2, 4)
RUNGS_VECTOR(unsigned char, uchar, 2, 4)
RUNGS_VECTOR(short, short, 4, 8)
RUNGS_VECTOR(unsigned short, ushort, 4, 8)
RUNGS_VECTOR(int, int, 8, 16)
RUNGS_VECTOR(unsigned, uint, 8, 16)
RUNGS_VECTOR(long long, longlong, 16, 16)
RUNGS_VECTOR(unsigned long long, ulonglong, 16, 16)
RUNGS_VECTOR(float, float, 8, 16)
RUNGS_VECTOR(double, double, 16, 16)
#undef RUNGS_VECTOR

/// The size of a grid or a block; what is not given is 1.
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

// Real variables, so that a debugger prints them and takes them in the condition of a breakpoint. The engine sets them
// whenever another thread goes on.
inline constinit RUNGS_PER_BLOCK uint3 threadIdx{0, 0, 0}, blockIdx{0, 0, 0};
inline constinit RUNGS_PER_BLOCK dim3 blockDim{1, 1, 1}, gridDim{1, 1, 1};
inline constexpr int warpSize = 32;
