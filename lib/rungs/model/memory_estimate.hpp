/// How much memory a model takes: arithmetic, no measurement.
#pragma once

#include "rungs/model/config.hpp"
#include "rungs/model/model.hpp"

namespace rungs {

/// Keys and values of one request of `context` tokens: 2 · L · S · G · D elements. \throws UsageError where this count
/// does not fit in 63 bits.
int64_t cache_elements(const Config& config, int64_t context);

/// Bytes, of f32 but weights and cache.
struct MemoryEstimate {
  int64_t cache = 0;        ///< two tensors (B, context, G, D) a layer
  int64_t scratch = 0;      ///< activations of one call, and its logits
  int64_t rope_tables = 0;  ///< rotary positions: two tables (context, D/2)
};

/// Of `sequences` sequences of up to `context` tokens, fed at most `rows` rows a call; `cache` is the dtype of the
/// cache.
MemoryEstimate memory_estimate(const Config& config, int64_t sequences, int64_t context, int64_t rows,
                               DType cache = DType::f32);

/// \throws Error when a model with weights of so many bytes, loaded as `options` say, needs more than the free memory
/// of its device: how much it needs, how much is free, and which context would fit.
void check_memory(Device& device, const Config& config, int64_t weight_bytes, const LoadOptions& options);

}  // namespace rungs
