/// The rotation of one pair, the same to the bit in every kernel that rotates.
#pragma once

#include <cmath>

namespace rungs {

/// Turns the pair (a, b) by an angle. Which product is rounded and which is fused with the sum is said here, as a
/// compiler may choose one way in one kernel and the other in the next.
__device__ __forceinline__ void rotate(float& a, float& b, float cos, float sin) {
  const float turned = fmaf(a, cos, -(b * sin));
  b = fmaf(b, cos, a * sin);
  a = turned;
}

}  // namespace rungs
