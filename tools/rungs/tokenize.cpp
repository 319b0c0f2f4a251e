// rungs tokenize: shows what a tokenizer makes of a text.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/tokenizer/tokenizer.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

using nlohmann::json;

/// "1,2,3", with spaces or brackets anywhere: what --json prints can be given back.
static std::vector<int32_t> read_ids(const std::string& text) {
  std::vector<int32_t> ids;
  for (size_t at = 0; (at = text.find_first_not_of(" \n,[]", at)) != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(" \n,[]", at), text.size());
    int32_t id = 0;
    const auto parsed = std::from_chars(text.data() + at, text.data() + end, id);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + end)
      throw UsageError(fmt::format("--decode: wanted ids such as 1,2,3, found \"{}\"", text.substr(at, end - at)));
    ids.push_back(id);
    at = end;
  }
  return ids;
}

/// The name of a token; its bytes, "<0xE4><0xBD>", where it holds only a part of a character.
static std::string name_of(const Tokenizer& tokenizer, int32_t id) {
  std::string name = tokenizer.name_of(id), bytes;
  if (is_utf8(name)) return name;
  for (const char byte : name) bytes += fmt::format("<0x{:02X}>", uint8_t(byte));
  return bytes;
}

/// The tokens side by side: on two backgrounds in turn where there is colour, else each in quotes.
static std::string shown(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  const bool colour = wants_colour(stdout);
  std::string line;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string quoted = json(name_of(tokenizer, ids[i])).dump();
    if (colour)
      line += fmt::format("\033[30;{}m{}\033[0m", i % 2 ? 46 : 43, quoted.substr(1, quoted.size() - 2));
    else
      line += (i ? " " : "") + quoted;
  }
  return line;
}

int tokenize_text(const TokenizeCommand& command) {
  if (int(command.text.has_value()) + int(!command.file.empty()) + int(command.decode.has_value()) != 1)
    throw UsageError("rungs tokenize needs one of --text, --file, --decode");
  const auto tokenizer = load_tokenizer(command.tokenizer);
  if (command.decode) {
    const std::string text = valid_utf8(tokenizer->decode(read_ids(*command.decode)));
    fmt::print("{}\n", command.json ? json(text).dump() : text);
    return 0;
  }
  const std::string text = command.text ? *command.text : read_text(command.file);
  std::vector<int32_t> ids = command.specials ? tokenizer->encode_with_specials(text) : tokenizer->encode(text);
  const double per_token = ids.empty() ? 0 : double(text.size()) / double(ids.size());
  const size_t of_text = ids.size();
  if (command.bos && tokenizer->bos()) ids.insert(ids.begin(), *tokenizer->bos());
  if (command.json) {
    fmt::print("{}\n", json(ids).dump());
    return 0;
  }
  fmt::print("{}\n{}\n", shown(*tokenizer, ids), json(ids).dump());
  fmt::print("{} tokens of text{}, {} bytes: {:.2f} bytes a token\n", of_text,
             ids.size() > of_text ? " after the one that begins it" : "", text.size(), per_token);
  return 0;
}

}  // namespace rungs
