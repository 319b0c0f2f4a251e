/// What a byte-level BPE tokenizer.json holds, laid open: lesson 14 works on these tables.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rungs {

/// Two tokens that stand side by side.
using TokenPair = std::pair<int32_t, int32_t>;

/// What becomes of a pair: one token. The lower its rank, the earlier the merge was learned.
struct Merge {
  int32_t rank;
  int32_t token;
};

/// Tokens, merges and special tokens by their ids.
struct BpeTables {
  std::vector<std::string> tokens;         ///< the bytes of each token; a special token's are its name
  std::array<int32_t, 256> byte_tokens{};  ///< the token of each single byte
  std::map<TokenPair, Merge> merges;
  std::map<std::string, int32_t, std::less<>> specials;  ///< "<bos>" and its like, which are written in no other way
  /// Cuts text into the pieces that are merged each by itself: words, numbers, signs, spaces.
  std::function<std::vector<std::string_view>(std::string_view text)> split;

  bool is_special(int32_t id) const { return specials.contains(tokens.at(size_t(id))); }
};

/// Reads a tokenizer.json. \throws FileError when it is no byte-level BPE, or a byte or a merge has no token.
BpeTables load_bpe_tables(const std::filesystem::path& file);

}  // namespace rungs
