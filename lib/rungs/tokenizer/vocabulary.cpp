#include "rungs/tokenizer/vocabulary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/tokenizer/added_tokens.hpp"

namespace rungs {

using nlohmann::json;

static int32_t special(const json& file, const char* name, int64_t size, const std::string& path) {
  const json value = file.value(name, json());
  if (!value.is_number_integer() || value < 0 || value >= size)
    throw FileError(fmt::format("{}: {}: wanted a whole number from 0 to {}, found {}", path, name, size - 1,
                                value.is_null() ? "none" : brief(value)));
  return value.get<int32_t>();
}

Vocabulary::Vocabulary(const std::filesystem::path& path) {
  const std::string name = path.string();
  const auto fail = [&](const std::string& what) { throw FileError(name + ": " + what); };
  const json file = parse_json(read_text(path), name);
  if (!file.is_object()) fail(fmt::format("wanted an object, found {}", file.type_name()));
  const json tokens = file.value("tokens", json());
  if (!tokens.is_array() || tokens.empty())
    fail(fmt::format("tokens: wanted a list of strings, found {}", tokens.is_null() ? "none" : tokens.type_name()));
  for (const json& token : tokens) {
    if (!token.is_string() || token.get_ref<const std::string&>().empty())
      fail(fmt::format("tokens: wanted a string that is not empty at {}, found {}", tokens_.size(), brief(token)));
    tokens_.push_back(token.get<std::string>());
  }
  bos_ = special(file, "bos_token_id", size(), name);
  eos_ = special(file, "eos_token_id", size(), name);

  std::vector<LongestMatch::Name> names;
  for (int32_t id = 0; id < size(); ++id)
    if (id != bos_ && id != eos_) names.push_back({tokens_[size_t(id)], id});
  names_ = LongestMatch(names);
  if (names_.size() == names.size()) return;
  for (const auto& [text, id] : names)
    if (const int32_t first = names_.find(text)->id; first != id)
      fail(fmt::format("tokens: wanted each string once, found {} at {} and {}", brief(json(text)), first, id));
}

std::vector<int32_t> Vocabulary::encode(std::string_view text) const {
  const bool spaced = !text.empty() && (text[0] == ' ' || text[0] == '\n');
  const std::string whole = (spaced ? "" : " ") + std::string(text);
  const std::string_view left = whole;
  std::vector<int32_t> ids;
  for (size_t at = 0; at < left.size();) {
    const LongestMatch::Name* found = names_.find(left.substr(at));
    if (!found) {
      const size_t offset = at - (!spaced && at > 0);
      throw UsageError(fmt::format("byte 0x{:02X} at offset {} of the text has no token", uint8_t(left[at]), offset));
    }
    ids.push_back(found->id);
    at += found->text.size();
  }
  return ids;
}

std::vector<int32_t> Vocabulary::encode_with_specials(std::string_view text) const {
  const AddedTokens specials({{tokens_[size_t(*bos_)], *bos_}, {tokens_[size_t(*eos_)], *eos_}});
  return specials.encode_between(text, [this](std::string_view part) { return encode(part); });
}

std::string_view Vocabulary::text_of(int32_t id) const {
  check_id(id);
  return is_special(id) ? std::string_view() : tokens_[size_t(id)];
}

std::string Vocabulary::bytes_of(int32_t id, bool begins) const {
  const std::string_view text = text_of(id);
  return std::string(text.substr(begins && text.starts_with(' ')));
}

std::string Vocabulary::name_of(int32_t id) const {
  check_id(id);
  return tokens_[size_t(id)];
}

}  // namespace rungs
