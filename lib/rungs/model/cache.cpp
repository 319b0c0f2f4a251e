#include "rungs/model/cache.hpp"

namespace rungs {

KvCache::KvCache(Device& device, const Config& config, int64_t sequences, int64_t capacity) {
  const bool one_head = config.model_type == "rungs_decoder" && config.heads == 1;
  const Shape shape = one_head ? Shape{sequences, capacity, config.head_width}                    // (B, capacity, D)
                               : Shape{sequences, capacity, config.kv_heads, config.head_width};  // (B, capacity, G, D)
  for (int64_t layer = 0; layer < config.layers; ++layer)
    layers.push_back({device.allocate(shape), device.allocate(shape)});
}

}  // namespace rungs
