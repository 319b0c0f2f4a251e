#include "rungs/tokenizer/tokenizer.hpp"

#include <fmt/format.h>

#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/tokenizer/gguf_tokenizer.hpp"
#include "rungs/tokenizer/sentencepiece.hpp"
#include "rungs/tokenizer/tiktoken.hpp"
#include "rungs/tokenizer/tokenizer_json.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

namespace rungs {

void Tokenizer::check_id(int32_t id) const {
  if (id < 0 || id >= size()) throw UsageError(fmt::format("token id {} is not in [0, {})", id, size()));
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  bool begins = true;
  for (const int32_t id : ids) {
    text += bytes_of(id, begins);
    begins = begins && bytes_of(id).empty();
  }
  return text;
}

static std::unique_ptr<Tokenizer> load_file(const std::filesystem::path& path) {
  const std::string extension = path.extension(), name = path.string();
  if (extension == ".bin") return std::make_unique<SentencePiece>(read_llama2c(path), name);
  if (extension == ".gguf") return tokenizer_of_gguf(read_gguf_metadata(path), name);
  if (extension == ".tiktoken") return std::make_unique<Tiktoken>(path);
  if (extension == ".model") {
    if (is_tiktoken(path)) return std::make_unique<Tiktoken>(path);
    return std::make_unique<SentencePiece>(read_sentencepiece(path), name);
  }
  if (extension != ".json")
    throw FileError(name + ": wanted a tokenizer: a file that ends in .json, .model, .tiktoken, .gguf or .bin");
  const nlohmann::json file = parse_json(read_text(path), name);
  if (file.is_object() && file.contains("tokens")) return std::make_unique<Vocabulary>(path);
  return std::make_unique<TokenizerJson>(file, name);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file_or_directory) {
  if (!std::filesystem::is_directory(file_or_directory)) return load_file(file_or_directory);
  for (const char* name : {"tokenizer.json", "tokenizer.model", "vocabulary.json", "tokenizer.bin"})
    if (std::filesystem::exists(file_or_directory / name)) return load_file(file_or_directory / name);
  throw FileError(file_or_directory.string() +
                  ": wanted tokenizer.json, tokenizer.model, vocabulary.json or tokenizer.bin, found none");
}

}  // namespace rungs
