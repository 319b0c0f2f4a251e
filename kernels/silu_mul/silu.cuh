/// What rung 2 and the fused forms of silu_mul share.
#pragma once

#include "kernels/floats.cuh"

namespace rungs {

/// silu(gate) · up.
template <int width>
__device__ inline Few<width> silu_mul(const Few<width>& gate, const Few<width>& up) {
  Few<width> out;
  for (int i = 0; i < width; ++i) out.at[i] = gate.at[i] / (1 + expf(-gate.at[i])) * up.at[i];
  return out;
}

}  // namespace rungs
