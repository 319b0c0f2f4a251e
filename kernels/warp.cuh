/// What the threads of a warp, or of a block, make together: sums and maxima. Every thread gets the result, and the
/// order of the operations is fixed, so that the same input always gives the same bits.
#pragma once

#include "kernels/launch.cuh"

namespace rungs {

constexpr unsigned whole_warp = 0xffffffff;  ///< the mask of all 32 lanes

/// \name Over the 32 lanes of a warp, all of which call
/// Five steps: each lane adds what the lane 16, 8, 4, 2, 1 away has.
///@{

/// The sum of the lanes' x.
template <class T>
__device__ inline T warp_sum(T x) {
  for (int away = 16; away > 0; away /= 2) x += __shfl_xor_sync(whole_warp, x, away);
  return x;
}
/// The largest of the lanes' x.
template <class T>
__device__ inline T warp_max(T x) {
  for (int away = 16; away > 0; away /= 2) {
    const T other = __shfl_xor_sync(whole_warp, x, away);
    x = other > x ? other : x;
  }
  return x;
}
///@}

/// \name Over a block, all of whose threads call: blockDim is (x), a multiple of 32
/// Each warp leaves its result in shared memory, then every warp combines them all.
///@{

/// The sum of the threads' x.
template <class T>
__device__ inline T block_sum(T x) {
  __shared__ T of_warp[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  x = warp_sum(x);
  if (warps == 1) return x;
  if (lane == 0) of_warp[warp] = x;
  __syncthreads();
  x = warp_sum(lane < warps ? of_warp[lane] : T(0));
  __syncthreads();  // before the next call writes of_warp
  return x;
}
/// The largest of the threads' x.
template <class T>
__device__ inline T block_max(T x) {
  __shared__ T of_warp[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  x = warp_max(x);
  if (warps == 1) return x;
  if (lane == 0) of_warp[warp] = x;
  __syncthreads();
  x = warp_max(of_warp[lane < warps ? lane : 0]);
  __syncthreads();  // before the next call writes of_warp
  return x;
}
///@}

}  // namespace rungs
