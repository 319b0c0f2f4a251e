#include "model/cache.hpp"

namespace rungs {

KvCache::KvCache(Ops& ops, const Config& config, int64_t sequences, int64_t capacity) {
  const Shape shape{sequences, capacity, config.head_width};  // (B, capacity, D)
  for (int64_t layer = 0; layer < config.layers; ++layer) layers.push_back({ops.allocate(shape), ops.allocate(shape)});
}

}  // namespace rungs
