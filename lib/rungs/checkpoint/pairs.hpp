/// The two orders in which files have the rows of q and k: RoPE turns pairs of them.
#pragma once

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Which rows of a head are pair i.
enum class Pairs {
  halves,     ///< i and i + D/2: Hugging Face, and everything here
  neighbours  ///< 2i and 2i + 1: llama2.c and GGUF
};

/// The rows of a weight (heads · D, C), of any dtype, from one order to the other.
Tensor with_pairs_moved(const Tensor& weight, int64_t heads, Pairs to);

}  // namespace rungs
