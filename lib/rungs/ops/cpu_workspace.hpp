/// The memory that CpuOps takes for itself, beside the tensors that a model allocates through it: arithmetic, no
/// measurement. What it counts is said to be allocated in cpu_linear.cpp and cpu_attention.cpp.
#pragma once

#include <cstdint>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// How many threads an operation of CpuOps takes at most.
int threads_of_cpu();

/// Bytes of x (N, C) in the order in which the product with a weight of this dtype reads it, which stay; 0 where that
/// is x itself.
int64_t linear_workspace(int64_t N, int64_t C, DType weight);

/// Bytes of scores, which stay: of calls of at most N rows that attend to at most S tokens with H heads of width D, in
/// a cache of f32.
int64_t attention_workspace(int64_t N, int64_t S, int64_t H, int64_t D);

}  // namespace rungs
