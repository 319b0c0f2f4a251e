#include "text/tokenizer.hpp"

#include <fmt/format.h>

#include "tensor/error.hpp"
#include "text/vocabulary.hpp"

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

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& file_or_directory) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(file_or_directory)) return std::make_unique<Vocabulary>(file_or_directory);
  return std::make_unique<Vocabulary>(file_or_directory / "vocabulary.json");
}

}  // namespace rungs
