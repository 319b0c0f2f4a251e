/// Byte-level BPE by ranks, as tiktoken does it: the tokenizer of Llama 3.
#pragma once

#include "rungs/tokenizer/added_tokens.hpp"
#include "rungs/tokenizer/bpe.hpp"
#include "rungs/tokenizer/split.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs {

/// A file's first line is base64 and a rank, which a SentencePiece model's never is: it begins with 0x0A.
/// \throws FileError when it cannot be read
bool is_tiktoken(const std::filesystem::path& path);

/// A token for each line of the file and, after them, the 256 special tokens of Llama 3.
class Tiktoken : public Tokenizer {
 public:
  /// Reads lines of a token's bytes in base64 and its rank, which is its id and says how early it is merged.
  /// \throws FileError
  explicit Tiktoken(const std::filesystem::path& path);

  int64_t size() const override { return int64_t(tokens_.size() + special_names_.size()); }
  std::vector<int32_t> encode(std::string_view text) const override;
  std::vector<int32_t> encode_with_specials(std::string_view text) const override;
  bool is_special(int32_t id) const override;
  std::string bytes_of(int32_t id, bool begins = false) const override;
  std::string name_of(int32_t id) const override;

 private:
  std::vector<std::string> tokens_, special_names_;
  std::unordered_map<std::string_view, int32_t> ids_;  // looks at tokens_
  std::array<int32_t, 256> bytes_{};
  AddedTokens specials_;
  Merges merges_;
  Pattern pattern_;
};

}  // namespace rungs
