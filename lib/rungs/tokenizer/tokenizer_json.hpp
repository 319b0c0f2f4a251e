/// The BPE tokenizers of Hugging Face's tokenizer.json: byte-level, and over characters with bytes to fall back on.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <unordered_map>

#include "rungs/tokenizer/added_tokens.hpp"
#include "rungs/tokenizer/bpe.hpp"
#include "rungs/tokenizer/normalizer.hpp"
#include "rungs/tokenizer/pre_tokenizer.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs {

/// Gives the ids that the library gives. "truncation" and "padding" of the file are not looked at.
class TokenizerJson : public Tokenizer {
 public:
  /// `name` stands in the errors. \throws FileError naming the field, and for a kind that is not known those that are.
  TokenizerJson(const nlohmann::json& file, const std::string& name);

  int64_t size() const override { return int64_t(tokens_.size()); }
  std::vector<int32_t> encode(std::string_view text) const override { return encode(text, plain_); }
  std::vector<int32_t> encode_with_specials(std::string_view text) const override { return encode(text, all_); }
  bool is_special(int32_t id) const override;
  std::string bytes_of(int32_t id, bool begins = false) const override;
  std::string name_of(int32_t id) const override;

 private:
  struct Added {
    std::string text;
    int32_t id = 0;
    bool special = false, normalized = false, strips_left = false, strips_right = false;
  };
  /// Added tokens that are looked for in the text as it is, and after normalization.
  struct AddedSet {
    AddedTokens before, after;
  };

  void read_vocabulary(const nlohmann::json& model, const std::string& where);
  void read_merges(const nlohmann::json& model, const std::string& where);
  void read_added(const nlohmann::json& list, const std::string& where);
  void read_decoder(const nlohmann::json& description, const std::string& where, bool& fused);
  void read_template(const nlohmann::json& description, const std::string& where);
  void choose_ends();

  std::vector<int32_t> encode(std::string_view text, const AddedSet& added) const;
  std::vector<AddedTokens::Stretch> parts(std::string_view text, const AddedTokens& names) const;
  void encode_piece(std::string_view piece, BpeEncoder& encoder, std::vector<int32_t>& ids) const;
  std::vector<int32_t> symbols_of(std::string_view piece) const;

  std::vector<std::string> tokens_;                  // as the file writes them
  std::unordered_map<std::string, int32_t> pieces_;  // the vocabulary: byte-level as bytes, else as written
  std::unordered_map<uint32_t, int32_t> characters_;
  std::vector<int32_t> bytes_;  // the token of each byte; -1: none
  bool byte_level_ = false, byte_fallback_ = false, ignore_merges_ = false, fuse_unknown_ = false;
  int32_t unknown_ = -1;
  Merges merges_;

  std::vector<Added> added_;
  bool begins_with_text_ = false;  // so its template says
  std::unordered_map<int32_t, size_t> added_by_id_;
  AddedSet plain_, all_;  // all_: the special ones too
  Normalizer normalize_;
  PreTokenizer pre_tokenizer_;

  /// What turns a token into text; `begins`: it is the first.
  std::vector<std::function<std::string(std::string token, bool begins)>> decode_steps_;
};

}  // namespace rungs
