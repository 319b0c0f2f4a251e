/// Rows of bf16 in 16-byte pieces of 8.
#pragma once

#include "kernels/floats.cuh"

namespace rungs {

/// Elements [k, k + 8) of a row of K; zeros beyond its end, and all zeros where `row` is null. `aligned` promises that
/// rows begin and end at multiples of 16 bytes, so that one load does it.
template <bool aligned>
__device__ inline uint4 eight_of(const bf16* row, int k, int K) {
  uint32_t word[4] = {};
  if (row == nullptr || k >= K) return make_uint4(0, 0, 0, 0);
  if constexpr (aligned) {
    return *reinterpret_cast<const uint4*>(row + k);
  } else {
    for (int e = 0; e < 8; ++e)
      if (k + e < K) word[e / 2] |= uint32_t(row[k + e].bits) << e % 2 * 16;
    return make_uint4(word[0], word[1], word[2], word[3]);
  }
}

}  // namespace rungs
