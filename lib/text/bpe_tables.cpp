#include "text/bpe_tables.hpp"

#include <fmt/format.h>

#include <memory>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "checkpoint/json.hpp"
#include "tensor/error.hpp"
#include "tensor/file.hpp"

namespace rungs {

using nlohmann::json;

/// The file shows each byte as one visible character: printable ones as themselves, the others as U+0100 and up.
static std::map<std::string, uint8_t> shown_bytes() {
  std::map<std::string, uint8_t> bytes;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    const char32_t shown = printable ? char32_t(byte) : next++;
    std::string utf8;
    if (shown < 0x80)
      utf8 = char(shown);
    else
      utf8 = {char(0xC0 | (shown >> 6)), char(0x80 | (shown & 0x3F))};
    bytes[utf8] = uint8_t(byte);
  }
  return bytes;
}

static std::string bytes_of_shown(const std::string& shown, const std::string& file) {
  static const std::map<std::string, uint8_t> byte_of = shown_bytes();
  std::string bytes;
  for (size_t i = 0; i < shown.size();) {
    const size_t length = uint8_t(shown[i]) < 0x80 ? 1 : 2;
    const auto byte = byte_of.find(shown.substr(i, length));
    if (byte == byte_of.end()) throw FileError(fmt::format("{}: the token {} shows no bytes", file, shown));
    bytes += char(byte->second);
    i += length;
  }
  return bytes;
}

static std::function<std::vector<std::string_view>(std::string_view)> splitter(const std::string& pattern,
                                                                               const std::string& file) {
  int error = 0;
  size_t at = 0;
  const std::shared_ptr<pcre2_code> code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, nullptr),
      pcre2_code_free);
  if (!code) throw FileError(fmt::format("{}: pre_tokenizer: no pattern: stops at its byte {}", file, at));
  return [code](std::string_view text) {
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
        pcre2_match_data_create_from_pattern(code.get(), nullptr), pcre2_match_data_free);
    std::vector<std::string_view> pieces;
    size_t from = 0;
    const auto add = [&](size_t begin, size_t end) {
      if (end > begin) pieces.push_back(text.substr(begin, end - begin));
    };
    while (from < text.size() && pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                             PCRE2_NOTEMPTY, match.get(), nullptr) > 0) {
      const size_t* found = pcre2_get_ovector_pointer(match.get());
      add(from, found[0]);  // what no piece matches is a piece too
      add(found[0], found[1]);
      from = found[1];
    }
    add(from, text.size());
    return pieces;
  };
}

BpeTables load_bpe_tables(const std::filesystem::path& path) try {
  const std::string file = path.string();
  const json j = parse_json(read_text(path), file), &model = j.at("model");
  BpeTables bpe;
  std::map<std::string, int32_t> ids = model.at("vocab").get<std::map<std::string, int32_t>>();
  for (const json& token : j.at("added_tokens")) {
    const std::string name = token.at("content").get<std::string>();
    ids[name] = bpe.specials[name] = token.at("id").get<int32_t>();
  }
  bpe.tokens.resize(ids.size());
  bpe.byte_tokens.fill(-1);
  for (const auto& [shown, id] : ids) {
    if (id < 0 || size_t(id) >= ids.size())
      throw FileError(fmt::format("{}: token {}: wanted an id below {}, found {}", file, shown, ids.size(), id));
    std::string& bytes = bpe.tokens[size_t(id)];
    bytes = bpe.specials.contains(shown) ? shown : bytes_of_shown(shown, file);
    if (bytes.size() == 1) bpe.byte_tokens[uint8_t(bytes[0])] = id;
  }
  for (size_t byte = 0; byte < 256; ++byte)
    if (bpe.byte_tokens[byte] < 0) throw FileError(fmt::format("{}: the byte {} has no token", file, byte));
  for (const json& pair : model.at("merges")) {
    const std::string left = pair.at(0).get<std::string>(), right = pair.at(1).get<std::string>();
    const auto id = [&](const std::string& name) {
      if (!ids.contains(name)) throw FileError(fmt::format("{}: a merge names {}, which is no token", file, name));
      return ids.at(name);
    };
    bpe.merges[{id(left), id(right)}] = {int32_t(bpe.merges.size()), id(left + right)};
  }
  bpe.split = splitter(j.at("/pre_tokenizer/pretokenizers/0/pattern/Regex"_json_pointer).get<std::string>(), file);
  return bpe;
} catch (const json::exception& e) {
  throw FileError(fmt::format("{}: no byte-level BPE: {}", path.string(), e.what()));
}

}  // namespace rungs
