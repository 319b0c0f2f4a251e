/// Where a KV cache holds a token.
#pragma once

#include "kernels/rope/rope.hpp"

namespace rungs {

/// The row of k and v of a paged cache, seen as (B · block_size, G, D), that holds position p of a sequence with this
/// block table.
__device__ __forceinline__ size_t row_in_blocks(const int* table, int block_size, int p) {
  return size_t(table[p / block_size]) * block_size + p % block_size;
}

/// The same for position p of the sequence of row n, in a paged cache or a contiguous one.
__device__ __forceinline__ size_t row_in_cache(const CacheRows& cache, int n, int p) {
  if (cache.block_tables) return row_in_blocks(cache.block_tables + cache.first_block[n], cache.capacity, p);
  return size_t(cache.sequence[n]) * cache.capacity + p;
}

}  // namespace rungs
