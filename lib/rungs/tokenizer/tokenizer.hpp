/// Text to token ids and back, whatever kind of file the tokenizer comes from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rungs {

/// A tokenizer. Text is UTF-8; what is not is encoded as if U+FFFD stood there, as the reference libraries do. Safe to
/// share between threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// How many ids there are: every id is in [0, size()).
  virtual int64_t size() const = 0;
  /// The token that begins a sequence, which is the caller's to put in front, and the one that ends it.
  std::optional<int32_t> bos() const { return bos_; }
  std::optional<int32_t> eos() const { return eos_; }

  /// The ids of a text. Special tokens written in it are text like any other. \throws UsageError when there is no token
  /// for a part of the text and none that stands for the unknown.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  /// The same, but special tokens written in the text become these tokens, and each stretch between them is encoded as
  /// a text of its own.
  virtual std::vector<int32_t> encode_with_specials(std::string_view text) const = 0;

  /// Special tokens, such as BOS, control the model and have no text.
  virtual bool is_special(int32_t id) const = 0;
  /// The bytes of one token, which may be half of a character; "" for a special. `begins`: no text stands before it, so
  /// that the space which encode puts in front of a text is dropped. \throws UsageError for an id out of range.
  virtual std::string bytes_of(int32_t id, bool begins = false) const = 0;
  /// What a reader calls the token: bytes_of(id), or the name of a special. \throws UsageError
  virtual std::string name_of(int32_t id) const = 0;
  /// The bytes of all tokens; they are what was encoded, where that was UTF-8 and no normalization changed it.
  /// \throws UsageError
  virtual std::string decode(std::span<const int32_t> ids) const;

 protected:
  /// \throws UsageError
  void check_id(int32_t id) const;

  std::optional<int32_t> bos_, eos_;
};

/// Reads a tokenizer: tokenizer.json, tokenizer.model (of SentencePiece or of tiktoken, told apart by content),
/// vocabulary.json, llama2.c's tokenizer.bin; of a directory, the first of these that is there. \throws FileError
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file_or_directory);

}  // namespace rungs
