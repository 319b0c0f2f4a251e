/// The KV cache: every key and value computed so far, so that none is computed twice.
#pragma once

#include <vector>

#include "rungs/model/config.hpp"
#include "rungs/ops/device.hpp"
#include "rungs/ops/ops.hpp"

namespace rungs {

/// Of the keys, and of the values, of one layer: (B, capacity, G, D); with one head (B, capacity, D).
Shape cache_shape(const Config& config, int64_t sequences, int64_t capacity);

/// \throws UsageError for a dtype that a KV cache of this model cannot have: see KvCache.
void check_cache_dtype(const Config& config, DType dtype);

/// One LayerCache a layer. It does not know how full it is: the positions of a batch say where its rows belong.
struct KvCache {
  std::vector<LayerCache> layers;

  KvCache() = default;
  /// Room for `sequences` sequences of up to `capacity` tokens, in the memory of the device, of f32; for
  /// the CPU also of bf16, f16, or of q8_0 where blocks of 32 divide a head. \throws UsageError
  KvCache(Device& device, const Config& config, int64_t sequences, int64_t capacity, DType dtype = DType::f32);
  int64_t sequences() const { return layers.empty() ? 0 : layers[0].k.dim(0); }
  int64_t capacity() const { return layers.empty() ? 0 : layers[0].k.dim(1); }
};

}  // namespace rungs
