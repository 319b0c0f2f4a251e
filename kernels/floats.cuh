/// How kernels read weights of any dtype as f32, and several neighbours at once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/launch.cuh"
#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// \name One element as f32, exact
///@{
__device__ inline float to_f32(float x) { return x; }                                               ///< itself
__device__ inline float to_f32(bf16 x) { return __uint_as_float(uint32_t(x.bits) << 16); }          ///< its upper half
__device__ inline float to_f32(f16 x) { return __half2float(reinterpret_cast<const __half&>(x)); }  ///< its value
///@}

/// The nearest bf16, ties to even.
__device__ inline bf16 nearest_bf16(float x) { return {__bfloat16_as_ushort(__float2bfloat16_rn(x))}; }

/// A few neighbours of a row, in registers.
template <int width>
struct Few {
  float at[width];  ///< in order
};

/// Words of memory as the f32 that they hold: each one float, or two numbers of 16 bits, the first in its lower half.
template <class W, int words>
__device__ inline Few<words * 4 / int(sizeof(W))> in_words(const uint32_t (&word)[words]) {
  Few<words * 4 / int(sizeof(W))> x;
#pragma unroll
  for (int i = 0; i < words; ++i)
    if constexpr (sizeof(W) == 4) {
      x.at[i] = __uint_as_float(word[i]);
    } else {
      x.at[2 * i] = to_f32(W{uint16_t(word[i] & 0xffff)});
      x.at[2 * i + 1] = to_f32(W{uint16_t(word[i] >> 16)});
    }
  return x;
}

/// The elements p[0 .. width) in one load of width · sizeof(W) bytes: 2, 4, 8 or 16. p is aligned to that.
template <int width, class W>
__device__ inline Few<width> load(const W* p) {
  constexpr int words = width * int(sizeof(W)) / 4;
  if constexpr (width == 1) {
    return {{to_f32(*p)}};
  } else {
    static_assert(words == 2 || words == 4, "a load is of 8 or 16 bytes");
    uint32_t word[words];
    if constexpr (words == 4) {
      const uint4 bits = *reinterpret_cast<const uint4*>(p);
      word[0] = bits.x, word[1] = bits.y, word[2] = bits.z, word[3] = bits.w;
    } else {
      const uint2 bits = *reinterpret_cast<const uint2*>(p);
      word[0] = bits.x, word[1] = bits.y;
    }
    return in_words<W>(word);
  }
}

/// p[0 .. width) = x, 16 bytes a store where width is a multiple of 4; p is then aligned to 16 bytes.
template <int width>
__device__ inline void store(float* p, const Few<width>& x) {
  if constexpr (width % 4 == 0) {
#pragma unroll
    for (int i = 0; i < width; i += 4)
      *reinterpret_cast<float4*>(p + i) = make_float4(x.at[i], x.at[i + 1], x.at[i + 2], x.at[i + 3]);
  } else {
    for (int i = 0; i < width; ++i) p[i] = x.at[i];
  }
}

/// p[0 .. width) = x rounded to bf16, 8 bytes a store where width is 4; p is then aligned to 8 bytes.
template <int width>
__device__ inline void store(bf16* p, const Few<width>& x) {
  if constexpr (width == 4) {
    uint32_t bits[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) bits[i] = nearest_bf16(x.at[i]).bits;
    *reinterpret_cast<uint2*>(p) = make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
  } else {
    for (int i = 0; i < width; ++i) p[i] = nearest_bf16(x.at[i]);
  }
}

/// x as the sum of `parts` bf16 in a row of them (parts · C): x rounded goes to `row` + c, what that leaves to `row` +
/// C + c. In two, 16 of the 24 bits of x's significand stay, where one bf16 keeps 8.
template <int width>
__device__ inline void store_split(bf16* row, int C, int c, const Few<width>& x, int parts) {
  if (parts == 1) return store<width>(row + c, x);
  Few<width> rest;
  for (int i = 0; i < width; ++i) rest.at[i] = x.at[i] - to_f32(nearest_bf16(x.at[i]));  // exact
  store<width>(row + c, x);
  store<width>(row + C + c, rest);
}

/// Whether every pointer stands at a multiple of `width` of its elements.
template <class... T>
bool aligned_to(int width, const T*... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % (size_t(width) * sizeof(T)) == 0) && ...);
}

/// Whether rows of C elements can be read four at a time: each row of each pointer begins at a multiple of four.
template <class... T>
bool rows_of_4(int C, const T*... pointers) {
  return C % 4 == 0 && aligned_to(4, pointers...);
}

}  // namespace rungs
