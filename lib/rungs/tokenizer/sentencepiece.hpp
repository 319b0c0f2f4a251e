/// BPE over the characters of the whole text, as SentencePiece does it: the tokenizer of Llama 2.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <unordered_map>

#include "rungs/tokenizer/added_tokens.hpp"
#include "rungs/tokenizer/bpe.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs {

/// U+2581, which stands for a space in a piece.
inline constexpr std::string_view lower_line = "\xE2\x96\x81";
/// A piece as files write it.
std::string with_lower_lines(const std::string& piece);
/// A piece as text has it.
std::string with_spaces(const std::string& piece);

/// What a piece of a SentencePiece model is; the numbers are those of the file.
enum class PieceKind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

/// What a file of this kind holds.
struct SentencePieceModel {
  /// A piece of text and what it is.
  struct Piece {
    std::string text;  ///< with plain spaces; a byte's is "<0x0A>"
    float score = 0;   ///< the higher, the earlier it is merged
    PieceKind kind = PieceKind::normal;
  };
  std::vector<Piece> pieces;
  bool space_in_front = true;        ///< encode puts one in front of a text
  bool one_space_for_many = false;   ///< runs of spaces become one; those at both ends vanish
  bool byte_fallback = true;         ///< a character without a piece becomes its bytes; else the unknown token
  bool lower_line_is_space = true;   ///< U+2581 in a text counts as a space
  std::string unknown_text = " ⁇ ";  ///< what the unknown token decodes to
  int32_t unknown = 0;
  std::optional<int32_t> bos, eos;
};

/// Reads a .model file of SentencePiece. \throws FileError when it is broken, or of a kind that is not BPE.
SentencePieceModel read_sentencepiece(const std::filesystem::path& path);

/// Reads a tokenizer.bin of llama2.c, which holds a SentencePiece model with byte fallback. \throws FileError
SentencePieceModel read_llama2c(const std::filesystem::path& path);

/// Gives the ids that the library gives, in time that grows as n log n.
class SentencePiece : public Tokenizer {
 public:
  /// `name` stands in the errors. \throws FileError when pieces are missing or contradict each other.
  SentencePiece(SentencePieceModel model, const std::string& name);

  int64_t size() const override { return int64_t(model_.pieces.size()); }
  std::vector<int32_t> encode(std::string_view text) const override;
  std::vector<int32_t> encode_with_specials(std::string_view text) const override;
  bool is_special(int32_t id) const override;
  std::string bytes_of(int32_t id, bool begins = false) const override;
  std::string name_of(int32_t id) const override;
  std::string decode(std::span<const int32_t> ids) const override;

 private:
  void make_rules(const std::string& name);
  std::string prepare(std::string_view text) const;
  void add(std::string_view text, BpeEncoder& encoder, std::vector<int32_t>& ids) const;
  void put_unknown(std::string_view character, std::vector<int32_t>& ids) const;

  SentencePieceModel model_;
  std::vector<int32_t> bytes_;                        // the token of each byte, with byte_fallback
  std::unordered_map<uint32_t, int32_t> characters_;  // their symbol: a piece, or size() + i for helpers_[i]
  std::vector<std::string> helpers_;                  // characters that are no piece by themselves, but stand in one
  AddedTokens user_defined_, specials_;
  Merges merges_;
};

}  // namespace rungs
