#include "prompts.hpp"

#include <fmt/format.h>

#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/llama_gguf.hpp"
#include "rungs/tokenizer/gguf_tokenizer.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

Prompt make_prompt(const Tokenizer& tokenizer, const Config& config, const std::string& text) {
  if (text.empty()) throw UsageError("the prompt is empty; without one the model begins by itself");
  for (std::string_view left = text; !left.empty();) {
    const Character c = first_character(left);
    if (!c.valid)
      throw UsageError(fmt::format("the prompt is not UTF-8: byte 0x{:02X} at offset {} belongs to no character",
                                   uint8_t(left[0]), text.size() - left.size()));
    left.remove_prefix(c.length);
  }
  Prompt prompt{text, {}};
  const int32_t bos = tokenizer.bos().value_or(config.bos);
  if (bos >= 0) prompt.tokens.push_back(bos);
  const std::vector<int32_t> ids = tokenizer.encode(text);
  prompt.tokens.insert(prompt.tokens.end(), ids.begin(), ids.end());
  return prompt;
}

Prompt no_prompt(const Tokenizer& tokenizer, const Config& config) {
  const int32_t bos = tokenizer.bos().value_or(config.bos);
  if (bos < 0) throw UsageError("the model has no token that begins a text: give it a prompt");
  return {"", {bos}};
}

std::vector<Prompt> read_prompts(const std::string& path, const Tokenizer& tokenizer, const Config& config) {
  std::vector<Prompt> prompts;
  const std::string text = read_text(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();  // lines may end as they do on Windows
    at = end + 1;
    try {
      if (line.empty()) throw UsageError("wanted a prompt, found an empty line");
      prompts.push_back(make_prompt(tokenizer, config, line));
    } catch (const UsageError& e) {
      throw FileError(fmt::format("{}: line {}: {}", path, prompts.size() + 1, e.what()));
    }
  }
  if (prompts.empty()) throw FileError(path + ": wanted one prompt a line, found an empty file");
  return prompts;
}

std::filesystem::path tokenizer_path(const std::string& model, const std::string& named) {
  namespace fs = std::filesystem;
  if (!named.empty()) return named;
  if (!fs::is_regular_file(model)) return model;
  const fs::path beside = fs::path(model).parent_path();
  if (!is_gguf(model)) return beside / "tokenizer.bin";
  return has_tokenizer(read_gguf_metadata(model)) ? fs::path(model) : beside;
}

void check_vocabulary(const Tokenizer& tokenizer, const std::filesystem::path& path, const Config& config) {
  if (tokenizer.size() != config.vocab_size)
    throw FileError(fmt::format("{}: this tokenizer has {} tokens, the model's vocabulary (vocab_size) has {}",
                                path.string(), tokenizer.size(), config.vocab_size));
}

}  // namespace rungs
