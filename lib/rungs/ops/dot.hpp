/// Products with few rows of x: one to decode a token, some for a batch or a short prompt. With one they are bound by
/// reading the weight, with many by what the processor computes.
#pragma once

#include <cstdint>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Rows of x up to which small_batch_product is a faster way than packed_product (bench/prompts.cpp), on this
/// processor; beside quantized weights always.
int64_t small_batch_rows(DType weight);

/// Whether rows of C elements of this dtype can be multiplied in bf16, by the processor's dots of them or in its tile
/// registers (ops/tile_product.hpp), and are long enough: from C = 768 on, for narrow models are fast without. Few rows
/// of x are then read as sums of two bf16, 17 bits of them, which the roundings of the sums outweigh; more are rounded
/// to one, as llama.cpp and PyTorch's bf16 do.
bool suits_bf16_dots(DType weight, int64_t C);

/// Whether they are multiplied so by the processor's vectors (uses_bf16_dot() in ops/processor.hpp).
bool takes_bf16_dots(DType weight, int64_t C);

/// Rows of x up to which the product is still bound by reading the weight, so that x may take twice the
/// multiplications.
inline constexpr int64_t rows_in_two_parts = 4;

/// Columns [first, last) of out = x · weightᵀ, on the calling thread.  out: (N, K) f32; x: (N, C) f32, arranged where
/// arranged_floats() says so; weight: (K, C). The sums are f32; an element is the same to the last bit
/// whatever N, the columns and the threads are. Shapes are the caller's to check.
void small_batch_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

/// Floats that arrange() makes of each of N rows of C beside a weight of this dtype; 0 where x is read as it is.
int64_t arranged_floats(int64_t N, int64_t C, DType weight);

/// Rows [first, last) of x as small_batch_product reads them: beside bf16 in another order; beside quantized
/// weights quantized, too (ops/quantized_product.hpp).  out: (N, arranged_floats); x: (N, C).
void arrange(Tensor& out, const Tensor& x, DType weight, int64_t first, int64_t last);

}  // namespace rungs
