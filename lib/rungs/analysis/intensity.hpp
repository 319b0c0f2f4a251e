/// Floating-point operations and bytes of attention, and their ratio: arithmetic intensity.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "rungs/analysis/memory.hpp"

namespace rungs {

/// What a computation does, and what it moves between memory and processor.
struct Cost {
  double flops = 0;  ///< floating-point operations; a multiplication and an addition are two
  double bytes = 0;  ///< read and written
  double intensity() const { return flops / bytes; }  ///< FLOP/byte
  Cost operator+(const Cost& other) const { return {flops + other.flops, bytes + other.bytes}; }
};

/// Whose keys and values a batch reads in a step of decoding.
enum class Caches {
  own,    ///< every request has its own
  shared  ///< all requests read one, which holds only where they share a prefix
};

/// One of the three steps of attention whose results go to memory.
struct AttentionStep {
  std::string_view name;
  double flops;
  double read, written;  ///< elements
};

/// S = Q·Kᵀ, P = softmax(S), O = P·V of one head of width d, each query over `keys` keys, for `batch` requests of which
/// `caches` have keys and values of their own. A product of m by k by n takes 2mkn FLOPs; softmax five a score:
/// maximum, difference, exponential, sum, quotient. No score is left out for the causal mask, which would halve the
/// FLOPs and the scores moved.
std::array<AttentionStep, 3> attention_steps(double queries, double keys, double head_dim, double batch = 1,
                                             double caches = 1);

/// All steps over N tokens. Elements moved: Q, K, V read and O written, 4Nd; S and P each written and read once, 4N².
/// The course counts 5Nd + 3N². Its FLOPs are the same, 4N²d + 5N².
Cost prefill_attention(int64_t tokens, int64_t head_dim, int64_t element_bytes, Formula formula = Formula::exact);

/// All steps of one new token each of `batch` requests of N tokens. Elements moved: K and V, 2Nd, once where they are
/// shared; of every request q and the output, 2d, and s and p each written and read once, 4N. The course counts
/// (2N + 1)d and, of every request, 3N. Its FLOPs are the same, 4Nd + 5N a request.
Cost decode_attention(int64_t tokens, int64_t head_dim, int64_t batch, int64_t element_bytes, Caches caches,
                      Formula formula = Formula::exact);

}  // namespace rungs
