/// Who has which block of a paged KV cache: allocation, sharing, and finding blocks whose tokens were computed before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace rungs {

/// Counts the holders of each block. A block without holders is free; as long as nobody needs its memory it keeps what
/// it holds, and can be found by its tokens (prefix caching). It knows numbers of blocks alone, not their memory.
class BlockPool {
 public:
  /// Names the contents of a block: equal for two blocks when their tokens and all tokens before them are equal.
  using Prefix = uint64_t;
  static constexpr Prefix start = 0;  ///< nothing stands before the block

  /// `hash_bits`: of a hash that are looked at; tests take few, so that hashes are equal where tokens are not.
  /// \throws UsageError for less than one block
  explicit BlockPool(int64_t blocks, int hash_bits = 64);

  /// n free blocks, with one holder each; those whose contents nobody has asked for longest are given up first. All or
  /// none: empty where fewer are free. n >= 1.
  std::vector<int32_t> take(int64_t n);
  /// One holder more of a block that is held. \throws Error where it is free.
  void share(int32_t block);
  /// One holder less. \throws Error where the block is free already: nothing is given back twice.
  void give_back(int32_t block);

  /// The block now holds `tokens`, after those of `before`; from now on it can be found. Returns the name of the
  /// contents, also where another block has them already, which then stays the one that is found.
  Prefix publish(int32_t block, Prefix before, std::span<const int32_t> tokens);
  /// Nobody finds the block any more, so that its one holder may write it.
  void withdraw(int32_t block);
  /// A block with these tokens after those of `before`, with a holder more, and the name of its contents. Tokens are
  /// compared: an equal hash is not enough.
  std::optional<std::pair<int32_t, Prefix>> find(Prefix before, std::span<const int32_t> tokens);

  int64_t blocks() const { return int64_t(blocks_.size()); }
  int64_t free() const { return int64_t(empty_.size() + kept_.size()); }
  int64_t kept() const { return int64_t(kept_.size()); }  ///< free ones that can be found
  int64_t holders(int32_t block) const { return blocks_.at(size_t(block)).holders; }
  /// find() can give it, whether somebody holds it or not.
  bool findable(int32_t block) const { return blocks_.at(size_t(block)).name != 0; }
  /// It may be written: one holder, and nobody can find it.
  bool writable(int32_t block) const { return holders(block) == 1 && !blocks_[size_t(block)].name; }

 private:
  struct Block {
    int64_t holders = 0;
    Prefix name = 0;  // of its contents, where it can be found; else 0
    Prefix before = 0;
    std::vector<int32_t> tokens = {};
    uint64_t freed = 0;  // when, in order
  };
  std::optional<int32_t> published(Prefix before, std::span<const int32_t> tokens) const;
  uint64_t hash_of(Prefix before, std::span<const int32_t> tokens) const;

  std::vector<Block> blocks_;
  std::vector<int32_t> empty_;        // free, nothing to be found in them
  std::map<uint64_t, int32_t> kept_;  // free, found by their tokens, by the time when they became free
  std::unordered_multimap<uint64_t, int32_t> by_hash_;  // of `before` and tokens
  Prefix last_name_ = start;
  uint64_t clock_ = 0, hash_mask_;
};

}  // namespace rungs
