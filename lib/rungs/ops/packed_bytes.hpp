/// Products of bytes with many rows of x, where the processor multiplies them four at a time (AVX-512 VNNI,
/// AVX-VNNI).
#pragma once

#include <cstdint>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// What quantized_product does, to the last bit: the weight's rows are unpacked and laid side by side, a piece at a
/// time, which then serves all rows of x from the caches. Returns false, and has done nothing, on another processor.
bool packed_bytes_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last);

}  // namespace rungs
