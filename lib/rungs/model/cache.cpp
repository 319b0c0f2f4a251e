#include "rungs/model/cache.hpp"

namespace rungs {

Shape cache_shape(const Config& config, int64_t sequences, int64_t capacity) {
  const bool one_head = !config.is_llama() && config.num_heads == 1;
  if (one_head) return {sequences, capacity, config.head_dim};
  return {sequences, capacity, config.num_kv_heads, config.head_dim};
}

KvCache::KvCache(Device& device, const Config& config, int64_t sequences, int64_t capacity) {
  const Shape shape = cache_shape(config, sequences, capacity);
  for (int64_t layer = 0; layer < config.num_layers; ++layer)
    layers.push_back({device.allocate(shape), device.allocate(shape)});
}

}  // namespace rungs
