/// Tokens that are looked for in the text by their name, before anything else happens to it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rungs/tokenizer/longest_match.hpp"

namespace rungs {

/// A set of names: "<s>" is token 1. Where several begin at one place, the longest counts.
class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<std::pair<std::string, int32_t>> tokens);
  AddedTokens(AddedTokens&&) = default;  // and no copy: names_ looks at the strings of tokens_
  AddedTokens& operator=(AddedTokens&&) = default;

  bool empty() const { return names_.empty(); }

  /// A part of a text: one of the names, or (id -1) what stands between two of them.
  struct Stretch {
    std::string_view text;
    int32_t id;
  };
  /// The parts of a text, from left to right; none is empty.
  std::vector<Stretch> parts(std::string_view text) const;

  /// The ids of a text in which these names are tokens, and the rest is encoded by `encode`, part by part.
  std::vector<int32_t> encode_between(std::string_view text,
                                      const std::function<std::vector<int32_t>(std::string_view)>& encode) const;

 private:
  std::vector<std::pair<std::string, int32_t>> tokens_;
  LongestMatch names_;
};

}  // namespace rungs
