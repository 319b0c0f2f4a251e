/// Products of bytes in tile registers: what ops/tile_product.hpp does for weights in q8_0 and q4_0.
#pragma once

#include <cstdint>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// As tile_product says.
void tile_product_of_bytes(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

/// As pack_tiles says.
void pack_tiles_of_bytes(Tensor& out, const Tensor& x, int64_t first, int64_t last);

/// Floats of a packed row of C: of each block four bytes a float, and its scale.
inline int64_t tiled_floats_of_bytes(int64_t C) { return C / block_elements * (block_elements / 4 + 1); }

}  // namespace rungs
