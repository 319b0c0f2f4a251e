/// The memory that CpuOps takes for itself, beside the tensors that a model allocates through it: arithmetic, no
/// measurement. What it counts is said to be allocated in cpu_linear.cpp and cpu_attention.cpp.
#pragma once

#include <cstdint>

#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// How many threads an operation of CpuOps takes at most.
int threads_of_cpu();

/// Bytes while out (N, K) = x · weightᵀ is computed, weight (K, C): for a small batch x in the order that bf16 wants,
/// which stays; for others rows of a 16-bit weight upcast to f32, which stay, and the copies of weight and x that Eigen
/// makes in an order of its own.
struct LinearWorkspace {
  int64_t arranged = 0, upcast = 0, packed = 0;
};
/// Of one product on as many threads as there are; see LinearWorkspace.
LinearWorkspace linear_workspace(int64_t N, int64_t K, int64_t C, DType weight);

/// Bytes of scores, which stay: of calls of at most N rows that attend to at most S tokens with H heads of width D, in
/// a cache of f32.
int64_t attention_workspace(int64_t N, int64_t S, int64_t H, int64_t D);

}  // namespace rungs
