/// Byte-pair encoding: the one loop that all tokenizers share. Sennrich et al. 2016, "Neural Machine Translation of
/// Rare Words with Subword Units", algorithm 1.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rungs {

/// Where `left` and `right` stand side by side, they may become `token`; the rule of the lowest rank goes first.
struct MergeRule {
  int32_t left, right, rank, token;
};

/// The symbols, characters or bytes, with which a token begins and ends; -1: no text ever becomes this token.
struct TokenEnds {
  int32_t first = -1, last = -1;
};

/// Bytes of the longest token that is read. A longer one is a broken file: every way to cut a token is looked up.
inline constexpr size_t longest_token = 4096;
/// Which lengths occur among the tokens.
using TokenLengths = std::bitset<longest_token + 1>;

/// What becomes of a pair, and when; no rank: it stays a pair.
struct Merged {
  int32_t rank = -1, token = -1;
  explicit operator bool() const { return rank >= 0; }
};

/// The rules of a tokenizer, by their pair.
class Merges {
 public:
  Merges() = default;
  /// With the ends of every token, a text is taken apart where no token can reach across; without, it is merged whole.
  /// Of two rules for one pair the later counts.
  Merges(std::span<const MergeRule> rules, std::span<const TokenEnds> ends);

  Merged find(int32_t left, int32_t right) const { return pairs_.find(left, right); }
  /// A token may hold these two symbols side by side.
  bool joins(int32_t left, int32_t right) const { return !has_ends_ || joins_.find(left, right); }
  /// Every rank is below this.
  int32_t ranks() const { return ranks_; }

 private:
  /// Open addressing with the values in the table, since looking up pairs is what encoding waits for.
  class Table {
   public:
    void reserve(size_t count);
    void set(int32_t left, int32_t right, Merged value);
    Merged find(int32_t left, int32_t right) const;

   private:
    struct Slot {
      uint64_t key;
      Merged value;
    };
    size_t place(uint64_t key) const;
    std::vector<Slot> slots_;
    int shift_ = 64;
  };

  Table pairs_, joins_;
  bool has_ends_ = false;
  int32_t ranks_ = 0;
};

/// Merges the symbols of one text, which come in stretches; equal ones are merged once. O(n log n) for n symbols, even
/// without a place to take them apart.
class BpeEncoder {
 public:
  BpeEncoder(const Merges& merges, std::vector<int32_t>& out) : merges_(merges), out_(out) {}
  /// Appends the tokens that these symbols become to `out`. Nothing merges across two calls.
  void add(std::span<const int32_t> symbols);

 private:
  struct Hash {
    size_t operator()(std::u32string_view text) const { return std::hash<std::u32string_view>()(text); }
    using is_transparent = void;
  };

  void add_word(std::span<const int32_t> symbols);
  void merge_short(std::span<const int32_t> symbols);
  void merge_long(std::span<const int32_t> symbols);

  const Merges& merges_;
  std::vector<int32_t>& out_;
  std::unordered_map<std::u32string, std::pair<size_t, size_t>, Hash, std::equal_to<>> seen_;  // place in out
  std::vector<Merged> next_;                                                                   // scratch of merge_short
};

}  // namespace rungs
