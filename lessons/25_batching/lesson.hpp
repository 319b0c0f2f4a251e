/// Lesson 25: batching, many requests over one paged cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "rungs/tensor/tensor.hpp"

/// Lesson 25, 25_batching.
namespace lesson_25 {

using namespace rungs;

/// What the functions below pass around, in a namespace of its own, so that a call of `take` means the `take` beside
/// it.
namespace state {

/// The block table of a request: its block i holds the keys and values of positions i · block_size and up.
using Table = std::vector<int32_t>;

/// How many tables hold each block of the cache (reference counts); 0: it is free.
struct Blocks {
  std::vector<int32_t> holders;
};

/// A request on its way.
struct Request {
  int64_t id;
  int64_t tokens;        ///< the prompt, and what was drawn since
  int64_t computed = 0;  ///< tokens whose keys and values are in the cache
  Table table = {};
};

/// Tokens [start, start + count) of requests[request].
struct Piece {
  int64_t request, start, count;
};

/// Blocks that hold known tokens, by their hash: see block_hashes.
using Index = std::map<uint32_t, int32_t>;

}  // namespace state
using namespace state;

/// Appends n free blocks to the table, those with the lowest numbers, with one holder each. All or none: false, and
/// nothing changed, where fewer are free.
bool take(Blocks& blocks, Table& table, int64_t n);

/// The blocks of the table have one holder less, and the table is empty.
/// \throws Error where one of them is free already
void release(Blocks& blocks, Table& table);

/// Before a row is written: a block with several holders is copied, and the table gets the copy (copy on write).
/// k, v: (blocks · block_size, D). False, and nothing changed, where no block is free for the copy.
bool make_writable(Blocks& blocks, Table& table, int64_t position, int64_t block_size, Tensor& k, Tensor& v);

/// The row of the cache that belongs to a position: block table[position / block_size], row position % block_size.
int64_t row_of(const Table& table, int64_t position, int64_t block_size);

/// Attention of a chunk of T tokens at start_pos, start_pos + 1, ... through the block table. Writes their keys and
/// values into the cache, and each sees the keys up to its own.
/// out, q, new_k, new_v: (T, D); k, v: (blocks · block_size, D).
void attend(Tensor& out, const Tensor& q, const Tensor& new_k, const Tensor& new_v, Tensor& k, Tensor& v,
            const Table& table, int64_t start_pos, int64_t block_size);

/// The number of the newest request that holds blocks; -1 where none does. requests: in the order of arrival.
int64_t newest(const std::vector<Request>& requests);

/// The request gives its blocks back, and will be computed again from its first token.
void preempt(Blocks& blocks, Request& request);

/// What one step feeds: of each request, in the order of arrival, what is left of it, at most `budget` tokens in all.
/// Blocks are taken; where they run out, the newest request is preempted, never an older one.
std::vector<Piece> plan(std::vector<Request>& requests, Blocks& blocks, int64_t block_size, int64_t budget);

/// What a hash is before the first token.
inline constexpr uint32_t hash_start = 2166136261;

/// The hash of what `hash` stands for, and one token more. (FNV-1a, a word at a time.)
inline uint32_t mix(uint32_t hash, int32_t token) { return (hash ^ uint32_t(token)) * 16777619; }

/// A hash for each whole block of these tokens: of all tokens from position 0 to the end of the block.
std::vector<uint32_t> block_hashes(const std::vector<int32_t>& tokens, int64_t block_size);

/// The table, which is empty, gets the blocks that hold the beginning of these tokens, each with a holder more. At
/// least the last token is left to compute, because its logits are wanted. Returns how many tokens the blocks hold.
int64_t share_prefix(Blocks& blocks, Table& table, const std::vector<int32_t>& tokens, const Index& index,
                     int64_t block_size);

}  // namespace lesson_25
