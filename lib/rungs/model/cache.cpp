#include "rungs/model/cache.hpp"

namespace rungs {

KvCache::KvCache(Device& device, const Config& config, int64_t sequences, int64_t capacity) {
  const bool one_head = config.model_type == "rungs_decoder" && config.num_heads == 1;
  const Shape shape = one_head ? Shape{sequences, capacity, config.head_dim}                    // (B, capacity, D)
                               : Shape{sequences, capacity, config.num_kv_heads, config.head_dim};  // (B, capacity, G, D)
  for (int64_t layer = 0; layer < config.num_layers; ++layer)
    layers.push_back({device.allocate(shape), device.allocate(shape)});
}

}  // namespace rungs
