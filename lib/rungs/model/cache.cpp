#include "rungs/model/cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rungs {

Shape cache_shape(const Config& config, int64_t sequences, int64_t capacity) {
  return {sequences, capacity, config.num_kv_heads, config.head_dim};
}

void check_cache_dtype(const Config& config, DType dtype) {
  const DType dtypes[] = {DType::f32, DType::bf16, DType::f16, DType::q8_0};
  if (std::find(std::begin(dtypes), std::end(dtypes), dtype) == std::end(dtypes))
    throw UsageError(fmt::format("a KV cache: wanted f32, bf16, f16 or q8_0, found {}", name_of(dtype)));
  if (config.head_dim % elements_of_block(dtype) != 0)
    throw UsageError(fmt::format("a KV cache in {}: wanted heads of a multiple of {}, found {} (head_dim)",
                                 name_of(dtype), elements_of_block(dtype), config.head_dim));
}

int64_t usual_block_size(const Config& config, DType dtype) {
  constexpr int64_t least_bytes = 16384;
  const auto token_bytes = int64_t(bytes_of(dtype, config.num_kv_heads * config.head_dim));
  int64_t size = 16;
  while (size * token_bytes < least_bytes && 16 * size <= config.usable_context()) size *= 2;
  return size;
}

KvCache::KvCache(Device& device, const Config& config, int64_t sequences, int64_t capacity, DType dtype) {
  check_cache_dtype(config, dtype);
  const Shape shape = cache_shape(config, sequences, capacity);
  for (int64_t layer = 0; layer < config.num_layers; ++layer)
    layers.push_back({device.allocate(shape, dtype), device.allocate(shape, dtype)});
  if (dtype != DType::f32 && !layers.empty() && layers[0].k.place() != Place::host)
    throw UsageError(fmt::format("a KV cache of CUDA: wanted f32, found {}; the CPU has the others", name_of(dtype)));
}

KvCache::KvCache(Device& device, const Config& config, int64_t sequences, const Paging& paging, DType dtype)
    : KvCache(device, config, paging.blocks, paging.block_size, dtype) {
  if (sequences < 1 || paging.blocks < 1 || paging.block_size < 1 || paging.blocks > INT32_MAX)
    throw UsageError(
        fmt::format("a paged KV cache: wanted at least one sequence and one block of one token, found {} "
                    "sequences, {} blocks of {}",
                    sequences, paging.blocks, paging.block_size));
  tables.resize(size_t(sequences));
}

void KvCache::copy_block(Ops& ops, int32_t to, int32_t from) {
  for (LayerCache& layer : layers)
    for (Tensor* x : {&layer.k, &layer.v}) {
      const ConstTensor block = std::as_const(*x)[from];
      Tensor copy = (*x)[to];
      if (x->place() == Place::host)
        std::memcpy(copy.raw(), block.raw(), block.bytes());  // of any dtype
      else
        ops.copy(copy, block);
    }
}

}  // namespace rungs
