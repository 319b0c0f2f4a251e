#include "rungs/batching/block_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/error.hpp"

namespace rungs {

// FNV-1a over the name of what stands before, and the tokens.
uint64_t BlockPool::hash_of(Prefix before, std::span<const int32_t> tokens) const {
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  mix(before);
  for (const int32_t token : tokens) mix(uint32_t(token));
  return hash & hash_mask_;
}

BlockPool::BlockPool(int64_t blocks, int hash_bits)
    : hash_mask_(hash_bits < 64 ? (uint64_t(1) << hash_bits) - 1 : ~uint64_t(0)) {
  if (blocks < 1) throw UsageError(fmt::format("a paged KV cache: wanted at least one block, found {}", blocks));
  blocks_.resize(size_t(blocks));
  for (int64_t i = blocks; i-- > 0;) empty_.push_back(int32_t(i));
}

std::vector<int32_t> BlockPool::take(int64_t n) {
  if (n > free()) return {};
  std::vector<int32_t> taken;
  while (int64_t(taken.size()) < n) {
    if (empty_.empty()) {
      const int32_t oldest = kept_.begin()->second;
      kept_.erase(kept_.begin());
      withdraw(oldest);
      empty_.push_back(oldest);
    }
    taken.push_back(empty_.back());
    empty_.pop_back();
    blocks_[size_t(taken.back())].holders = 1;
  }
  return taken;
}

void BlockPool::share(int32_t block) {
  if (holders(block) == 0) throw Error(fmt::format("block {} is shared, but it is free", block));
  ++blocks_[size_t(block)].holders;
}

void BlockPool::give_back(int32_t block) {
  if (holders(block) == 0) throw Error(fmt::format("block {} is given back, but it is free already", block));
  Block& b = blocks_[size_t(block)];
  if (--b.holders > 0) return;
  if (b.name)
    kept_.emplace(b.freed = ++clock_, block);
  else
    empty_.push_back(block);
}

std::optional<int32_t> BlockPool::published(Prefix before, std::span<const int32_t> tokens) const {
  const auto [first, last] = by_hash_.equal_range(hash_of(before, tokens));
  for (auto at = first; at != last; ++at) {
    const Block& b = blocks_[size_t(at->second)];
    if (b.before == before && std::ranges::equal(b.tokens, tokens)) return at->second;
  }
  return {};
}

BlockPool::Prefix BlockPool::publish(int32_t block, Prefix before, std::span<const int32_t> tokens) {
  if (const auto other = published(before, tokens)) return blocks_[size_t(*other)].name;
  if (holders(block) == 0) throw Error(fmt::format("block {} is published, but it is free", block));
  withdraw(block);
  Block& b = blocks_[size_t(block)];
  b.name = ++last_name_, b.before = before;
  b.tokens.assign(tokens.begin(), tokens.end());
  by_hash_.emplace(hash_of(before, tokens), block);
  return b.name;
}

std::optional<std::pair<int32_t, BlockPool::Prefix>> BlockPool::find(Prefix before, std::span<const int32_t> tokens) {
  const auto block = published(before, tokens);
  if (!block) return {};
  Block& b = blocks_[size_t(*block)];
  if (b.holders++ == 0) kept_.erase(b.freed);
  return std::pair(*block, b.name);
}

void BlockPool::withdraw(int32_t block) {
  Block& b = blocks_[size_t(block)];
  if (!b.name) return;
  const auto [first, last] = by_hash_.equal_range(hash_of(b.before, b.tokens));
  for (auto at = first; at != last; ++at)
    if (at->second == block) {
      by_hash_.erase(at);
      break;
    }
  b.name = 0;
  b.tokens.clear();
}

}  // namespace rungs
