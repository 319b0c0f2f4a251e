/// Weights 16 bytes at a time.
#pragma once

#include <type_traits>

#include "kernels/floats.cuh"

namespace rungs {

/// How many weights one load of 16 bytes brings.
template <class W>
constexpr int chunk = 16 / int(sizeof(W));

/// A chunk of weights that may still be on its way from memory. With `aligned` these are its bits, which nobody touches
/// before they are used, so that no thread waits for them earlier.
template <bool aligned, class W>
struct Chunk {
  std::conditional_t<aligned, uint4, Few<chunk<W>>> bits;
};

/// Loads 16 bytes that no other warp will read soon: they get no place in the L1 cache, where they would drive out what
/// all warps read. No kernel that may still run writes them. PTX ISA, ld.global.nc with .L1::no_allocate.
__device__ __forceinline__ uint4 load_past_l1(const uint4* from) {
#ifdef __CUDACC__
  uint4 bits;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(__cvta_generic_to_global(from)));
  return bits;
#else
  return *from;
#endif
}

/// Begins to load the elements [c, c + chunk<W>) of a row of C. With `aligned`, which promises that every row starts at
/// a multiple of 16 bytes and ends at one, that is a load of 16 bytes, with `once` past the L1; else one by one, and
/// zeros beyond the end.
template <bool aligned, bool once, class W>
__device__ inline Chunk<aligned, W> load_chunk(const W* row, int c, int C) {
  Chunk<aligned, W> w = {};
  if constexpr (aligned) {
    const auto* const from = reinterpret_cast<const uint4*>(row + c);
    w.bits = once ? load_past_l1(from) : *from;
  } else {
    for (int e = 0; e < chunk<W>; ++e)
      if (c + e < C) {
        if constexpr (sizeof(W) == 1)
          w.bits.at[e] = float(row[c + e]);
        else
          w.bits.at[e] = to_f32(row[c + e]);
      }
  }
  return w;
}

/// What was loaded, as f32.
template <bool aligned, class W>
__device__ inline Few<chunk<W>> values(const Chunk<aligned, W>& w) {
  if constexpr (!aligned) {
    return w.bits;
  } else {
    const uint32_t word[4] = {w.bits.x, w.bits.y, w.bits.z, w.bits.w};
    if constexpr (sizeof(W) == 1) {
      Few<16> x;
#pragma unroll
      for (int e = 0; e < 16; ++e) x.at[e] = float(int8_t(word[e / 4] >> (e % 4 * 8) & 0xff));
      return x;
    } else {
      return in_words<W>(word);
    }
  }
}

/// The elements [c, c + chunk<W>) of a row of C, as f32; read through the L1.
template <bool aligned, class W>
__device__ inline Few<chunk<W>> weights_at(const W* row, int c, int C) {
  return values(load_chunk<aligned, false>(row, c, C));
}

/// The elements [c, c + count) of a row of C of the input, likewise; `aligned` loads them 4 at a time.
template <bool aligned, int count>
__device__ inline Few<count> inputs_at(const float* row, int c, int C) {
  Few<count> x = {};
#pragma unroll
  for (int e = 0; e < count; e += 4)
    if constexpr (aligned) {
      const Few<4> four = load<4>(row + c + e);
      for (int i = 0; i < 4; ++i) x.at[e + i] = four.at[i];
    } else {
      for (int i = 0; i < 4; ++i)
        if (c + e + i < C) x.at[e + i] = row[c + e + i];
    }
  return x;
}

/// Whether rows of C weights at `weight` and of C inputs at `x` can be read with `aligned`.
template <class W>
bool chunks_aligned(int C, const float* x, const W* weight) {
  return C % chunk<W> == 0 && aligned_to(4, x) && aligned_to(chunk<W>, weight);
}

}  // namespace rungs
