/// Floating-point operations and bytes of attention, and their ratio: arithmetic intensity.
#pragma once

#include <cstdint>

#include "systems/memory.hpp"

namespace rungs {

/// What a computation does, and what it moves between memory and processor.
struct Work {
  double flops = 0;  ///< floating-point operations; a multiplication and an addition are two
  double bytes = 0;  ///< read and written
  double intensity() const { return flops / bytes; }  ///< FLOP/byte
  Work operator+(const Work& other) const { return {flops + other.flops, bytes + other.bytes}; }
};

/// Whose keys and values a batch reads in a step of decoding.
enum class Caches {
  own,    ///< every request has its own
  shared  ///< all requests read one, which holds only where they share a prefix
};

/// One head of width d over N tokens, step by step: S = Q·Kᵀ goes to memory, P = softmax(S) to memory, O = P·V.
/// FLOPs: 2N²d for S, 5N² for P (maximum, difference, exponential, sum, quotient), 2N²d for O. Elements moved: Q, K, V
/// read and O written, 4Nd; S and P each written and read once, 4N². The course counts 5Nd + 3N². No score is left out
/// for the causal mask, which would halve the FLOPs and the N² of both.
Work prefill_attention(int64_t tokens, int64_t head_width, int64_t element_bytes, Formula formula = Formula::exact);

/// One step of one head: `batch` requests of N tokens, one query each. FLOPs: 4Nd + 5N a request. Elements moved: K and
/// V, 2Nd (once, where they are shared); q and the output 2d, and s and p each written and read once, 4N, of every
/// request. The course counts (2N + 1)d, 3N a request, and shares the cache.
Work decode_attention(int64_t tokens, int64_t head_width, int64_t batch, int64_t element_bytes, Caches caches,
                      Formula formula = Formula::exact);

}  // namespace rungs
