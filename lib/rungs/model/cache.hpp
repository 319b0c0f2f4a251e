/// The KV cache: every key and value computed so far, so that none is computed twice.
#pragma once

#include <vector>

#include "rungs/model/config.hpp"
#include "rungs/ops/device.hpp"
#include "rungs/ops/ops.hpp"

namespace rungs {

/// Of the keys, and of the values, of one layer: (B, capacity, G, D).
Shape cache_shape(const Config& config, int64_t sequences, int64_t capacity);

/// \throws UsageError for a dtype that a KV cache of this model cannot have: see KvCache.
void check_cache_dtype(const Config& config, DType dtype);

/// Tokens of a block of a paged KV cache, where nobody says: 16, and twice as many until the block's keys in a layer
/// have 16 KiB or the block is an eighth of the context. Small blocks, which lie far apart, are read more slowly than
/// large ones; large ones waste more of their last block, and prompts that begin alike share whole blocks alone.
int64_t usual_block_size(const Config& config, DType dtype = DType::f32);

/// Sizes of a paged KV cache.
struct Paging {
  int64_t blocks;           ///< in each layer, for all sequences
  int64_t block_size = 16;  ///< tokens of a block
};

/// One LayerCache a layer. It does not know how full it is: the positions of a batch say where its rows belong. In a
/// contiguous cache each sequence has its own place; in a paged one it has the blocks of its table, which may be those
/// of other sequences, too (Kwon and others 2023, "PagedAttention").
struct KvCache {
  std::vector<LayerCache> layers;
  /// Of a paged cache: the blocks of each sequence in the order of their positions. The caller writes them.
  std::vector<std::vector<int32_t>> tables;

  KvCache() = default;
  /// Room for `sequences` sequences of up to `capacity` tokens, in the memory of the device, of f32; for
  /// the CPU also of bf16, f16, or of q8_0 where blocks of 32 divide a head. \throws UsageError
  KvCache(Device& device, const Config& config, int64_t sequences, int64_t capacity, DType dtype = DType::f32);
  /// A paged cache for `sequences` sequences, with empty tables. \throws UsageError as above
  KvCache(Device& device, const Config& config, int64_t sequences, const Paging& paging, DType dtype = DType::f32);
  bool is_paged() const { return !tables.empty(); }
  int64_t blocks() const { return layers.empty() ? 0 : layers[0].k.dim(0); }
  int64_t sequences() const { return is_paged() ? int64_t(tables.size()) : blocks(); }
  /// Tokens that a sequence has room for, or of a paged cache a block.
  int64_t capacity() const { return layers.empty() ? 0 : layers[0].k.dim(1); }
  /// Tokens that this sequence has room for.
  int64_t room(int64_t sequence) const {
    return is_paged() ? int64_t(tables[size_t(sequence)].size()) * capacity() : capacity();
  }
  /// Block `to` of every layer = block `from`.
  void copy_block(Ops& ops, int32_t to, int32_t from);
};

}  // namespace rungs
