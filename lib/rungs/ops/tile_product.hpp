/// Products in the processor's tile registers (ops/tile_registers.hpp). They multiply several times what its vectors
/// do: beside weights in bf16 sixteen rows of x take hardly longer than the reading of the weight (bench/README.md).
#pragma once

#include <cstdint>

#include "rungs/ops/tile_registers.hpp"
#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Whether a product of N rows of x, each of C elements, is made so: the processor has these registers, and the weight
/// is in q8_0, q4_0 or bf16, and that wide enough (suits_bf16_dots() in ops/dot.hpp) and x not wanted in f32. With more
/// rows it is, too.
bool takes_tiles(int64_t N, int64_t C, DType weight);

/// N and the rows that fill its last tile.
int64_t in_whole_tiles(int64_t N);

/// Floats of a packed row of C beside a weight of this dtype: half of them for bf16; for quantized weights whole
/// numbers of 8 bits and the scales of their blocks.
int64_t tiled_floats(int64_t C, DType weight);

/// Rows [first, last) of x as tile_product reads them, quantized or rounded to bf16, up to rows_in_two_parts of them to
/// two bf16 each (ops/dot.hpp); `first` and `last` are multiples of 16.
/// out: (in_whole_tiles(N), tiled_floats), the rows that x does not have zeros; x: (N, C)
void pack_tiles(Tensor& out, const Tensor& x, DType weight, int64_t first, int64_t last);

/// Columns [first, last) of out = x · weightᵀ, on the calling thread.  out: (N, K) f32; x: from pack_tiles; weight:
/// (K, C). The sums of bf16 are f32, and an element is the same whatever N (beyond the parts), the columns and the
/// threads are; beside quantized weights it is what quantized_product says, to the last bit.
void tile_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

}  // namespace rungs
