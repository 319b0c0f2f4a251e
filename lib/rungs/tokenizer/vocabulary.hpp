/// The tokenizer of weights/decoder: whole words with their leading space, and every ASCII character by itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rungs/tokenizer/longest_match.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs {

/// Token i is the string tokens()[i]. Two of them are specials, which match no text and decode to none.
class Vocabulary : public Tokenizer {
 public:
  /// Reads vocabulary.json. \throws FileError naming the field, what was wanted and what was found.
  explicit Vocabulary(const std::filesystem::path& path);
  Vocabulary(const Vocabulary&) = delete;  // names_ looks at the strings of tokens_
  Vocabulary& operator=(const Vocabulary&) = delete;

  const std::vector<std::string>& tokens() const { return tokens_; }
  int64_t size() const override { return int64_t(tokens_.size()); }

  /// Puts a space in front unless there is one or a newline, then takes the longest token that matches, from left to
  /// right. BOS is the caller's to add. \throws UsageError naming the first byte that has no token, and its offset.
  std::vector<int32_t> encode(std::string_view text) const override;
  std::vector<int32_t> encode_with_specials(std::string_view text) const override;
  bool is_special(int32_t id) const override { return id == bos_ || id == eos_; }
  std::string bytes_of(int32_t id, bool begins = false) const override;
  std::string name_of(int32_t id) const override;
  /// The text of one token within a longer text; "" for a special. \throws UsageError
  std::string_view text_of(int32_t id) const;

 private:
  std::vector<std::string> tokens_;
  LongestMatch names_;  // all but the specials
};

}  // namespace rungs
