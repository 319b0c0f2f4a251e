#include "rungs/tokenizer/tokenizer_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/fields.hpp"
#include "rungs/tokenizer/byte_level.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

using nlohmann::json;

namespace {

/// Ids may leave gaps, but no more than so many: a list of all is kept.
constexpr int64_t most_gaps = 1 << 16;

std::string byte_name(int byte) { return fmt::format("<0x{:02X}>", byte); }

int32_t id_of(const json& value, size_t tokens, const std::string& where) {
  const int64_t most = int64_t(tokens) + most_gaps;
  if (!value.is_number_integer() || value < 0 || value >= most)
    throw FileError(fmt::format("{}: wanted an id from 0 to {}, found {}", where, most - 1, brief(value)));
  return value.get<int32_t>();
}

/// The two halves of a merge: "a b" or ["a", "b"].
std::pair<std::string, std::string> halves_of(const json& merge, const std::string& where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0], merge[1]};
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos)
      return {text.substr(0, space), text.substr(space + 1)};
  }
  throw FileError(fmt::format("{}: wanted two tokens, found {}", where, brief(merge)));
}

}  // namespace

TokenizerJson::TokenizerJson(const json& file, const std::string& name) {
  if (!file.is_object()) throw FileError(fmt::format("{}: wanted an object, found {}", name, file.type_name()));
  const auto part = [&](const char* key) { return file.value(key, json()); };

  pre_tokenizer_ = read_pre_tokenizer(part("pre_tokenizer"), name + ": pre_tokenizer");
  byte_level_ = pre_tokenizer_.byte_level;
  normalize_ = read_normalizer(part("normalizer"), name + ": normalizer");
  const json model = part("model");
  read_vocabulary(model, name + ": model");
  read_merges(model, name + ": model");
  read_added(part("added_tokens"), name + ": added_tokens");
  bool fused = false;
  read_decoder(part("decoder"), name + ": decoder", fused);
  read_template(part("post_processor"), name + ": post_processor");
  choose_ends();
}

void TokenizerJson::read_vocabulary(const json& model, const std::string& where) {
  const std::string type = model.is_object() && !model.contains("type") ? "BPE" : Fields(model, where).text("type");
  if (type != "BPE") throw unknown_type(where, type, "BPE");
  if (const json dropout = model.value("dropout", json()); !dropout.is_null() && dropout != 0)
    throw FileError(where + ": dropout: wanted none, found " + brief(dropout));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const json value = model.value(key, json()); !value.is_null() && value != json(""))
      throw FileError(fmt::format("{}: {}: wanted none, found {}", where, key, brief(value)));
  byte_fallback_ = Fields(model, where).truth("byte_fallback", false);
  ignore_merges_ = Fields(model, where).truth("ignore_merges", false);
  fuse_unknown_ = Fields(model, where).truth("fuse_unk", false);

  const json vocabulary = model.value("vocab", json());
  if (!vocabulary.is_object() || vocabulary.empty())
    throw FileError(fmt::format("{}: vocab: wanted tokens and their ids, found {}", where, brief(vocabulary)));
  for (const auto& [token, value] : vocabulary.items()) {
    const int32_t id = id_of(value, vocabulary.size(), fmt::format("{}: vocab: {}", where, brief(token)));
    if (token.empty()) throw FileError(fmt::format("{}: vocab: token {} is empty", where, id));
    if (size_t(id) >= tokens_.size()) tokens_.resize(size_t(id) + 1);
    if (!tokens_[size_t(id)].empty())
      throw FileError(
          fmt::format("{}: vocab: {} and {} both have the id {}", where, brief(tokens_[size_t(id)]), brief(token), id));
    tokens_[size_t(id)] = token;
    const std::optional<std::string> bytes = byte_level_ ? read_bytes(token) : token;
    if (!bytes) continue;  // no text becomes it
    pieces_.emplace(*bytes, id);
    if (const Character c = first_character(token); !byte_level_ && c.valid && c.length == token.size())
      characters_.emplace(c.code, id);
  }
  bytes_.assign(256, -1);
  for (int b = 0; b < 256; ++b) {
    const auto found = pieces_.find(byte_level_ ? std::string(1, char(b)) : byte_name(b));
    if (found != pieces_.end()) bytes_[size_t(b)] = found->second;
  }
  if (const json unknown = model.value("unk_token", json()); !unknown.is_null()) {
    const auto found = unknown.is_string() ? vocabulary.find(unknown.get<std::string>()) : vocabulary.end();
    if (found == vocabulary.end())
      throw FileError(fmt::format("{}: unk_token: {} is no token of vocab", where, brief(unknown)));
    unknown_ = *found;
  }
}

void TokenizerJson::read_merges(const json& model, const std::string& where) {
  std::unordered_map<std::string_view, int32_t> ids;
  for (size_t id = 0; id < tokens_.size(); ++id)
    if (!tokens_[id].empty()) ids.emplace(tokens_[id], int32_t(id));
  // Where a rule names a token that a character may fall back on, its symbols are not those of its text.
  std::vector<bool> fallback(tokens_.size());
  if (unknown_ >= 0) fallback[size_t(unknown_)] = true;
  for (const int32_t byte : bytes_)
    if (byte_fallback_ && byte >= 0) fallback[size_t(byte)] = true;
  bool plain = true;

  std::vector<MergeRule> rules;
  for (const json& merge : Fields(model, where).list("merges")) {
    const std::string at = fmt::format("{}: merges: {}", where, rules.size());
    const auto [left, right] = halves_of(merge, at);
    const auto id = [&](const std::string& token) {
      const auto found = ids.find(token);
      if (found == ids.end()) throw FileError(fmt::format("{}: {} is no token of vocab", at, brief(token)));
      plain = plain && !fallback[size_t(found->second)];
      return found->second;
    };
    rules.push_back({id(left), id(right), int32_t(rules.size()), id(left + right)});
  }

  std::vector<TokenEnds> ends;
  for (const std::string& token : tokens_) {
    if (!plain) break;
    ends.push_back({});
    const std::optional<std::string> bytes = byte_level_ ? read_bytes(token) : token;
    if (!bytes || bytes->empty()) continue;
    const std::vector<int32_t> symbols = symbols_of(*bytes);
    if (!symbols.empty()) ends.back() = {symbols.front(), symbols.back()};
  }
  merges_ = Merges(rules, ends);
}

void TokenizerJson::read_added(const json& list, const std::string& where) {
  if (list.is_null()) return;
  if (!list.is_array()) throw FileError(fmt::format("{}: wanted a list, found {}", where, brief(list)));
  for (const json& entry : list) {
    if (!entry.is_object()) throw FileError(fmt::format("{}: wanted an object, found {}", where, brief(entry)));
    Added added;
    added.text = Fields(entry, where).text("content");
    const std::string at = where + ": " + brief(added.text);
    added.id = id_of(entry.value("id", json()), pieces_.size() + list.size(), at);
    added.special = Fields(entry, at).truth("special", false);
    added.normalized = Fields(entry, at).truth("normalized", !added.special);
    added.strips_left = Fields(entry, at).truth("lstrip", false);
    added.strips_right = Fields(entry, at).truth("rstrip", false);
    if (Fields(entry, at).truth("single_word", false)) throw FileError(at + ": single_word is not supported");
    if (size_t(added.id) >= tokens_.size()) tokens_.resize(size_t(added.id) + 1);
    std::string& token = tokens_[size_t(added.id)];
    if (!token.empty() && token != added.text)
      throw FileError(fmt::format("{}: id {} is {} in vocab", at, added.id, brief(token)));
    token = added.text;
    added_by_id_.emplace(added.id, added_.size());
    added_.push_back(std::move(added));
  }
  const auto names = [&](bool normalized, bool specials) {
    std::vector<std::pair<std::string, int32_t>> chosen;
    for (const Added& a : added_)
      if (a.normalized == normalized && (specials || !a.special))
        chosen.emplace_back(normalized ? normalize_(a.text) : a.text, a.id);
    return AddedTokens(chosen);
  };
  plain_ = {names(false, false), names(true, false)};
  all_ = {names(false, true), names(true, true)};
}

std::vector<AddedTokens::Stretch> TokenizerJson::parts(std::string_view text, const AddedTokens& names) const {
  static constexpr std::string_view spaces = " \t\n\r\v\f";
  std::vector<AddedTokens::Stretch> all = names.parts(text);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].id < 0) continue;
    const Added& added = added_[added_by_id_.at(all[i].id)];
    if (added.strips_left && i > 0 && all[i - 1].id < 0)
      all[i - 1].text = all[i - 1].text.substr(0, all[i - 1].text.find_last_not_of(spaces) + 1);
    if (added.strips_right && i + 1 < all.size() && all[i + 1].id < 0) {
      std::string_view& next = all[i + 1].text;
      next.remove_prefix(std::min(next.find_first_not_of(spaces), next.size()));
    }
  }
  return all;
}

std::vector<int32_t> TokenizerJson::encode(std::string_view text, const AddedSet& added) const {
  const std::string valid = is_utf8(text) ? "" : valid_utf8(text);
  if (!valid.empty()) text = valid;
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3);
  BpeEncoder encoder(merges_, ids);
  for (const AddedTokens::Stretch& outer : parts(text, added.before)) {
    if (outer.id >= 0) {
      ids.push_back(outer.id);
      continue;
    }
    const std::string normalized = normalize_(std::string(outer.text));
    for (const AddedTokens::Stretch& inner : parts(normalized, added.after)) {
      if (inner.id >= 0) {
        ids.push_back(inner.id);
        continue;
      }
      const bool first = outer.text.data() == text.data() && inner.text.data() == normalized.data();
      Pieces pieces{std::string(inner.text), {}, first};
      if (!inner.text.empty()) pieces.ranges.emplace_back(0, inner.text.size());
      pre_tokenizer_.cut(pieces);
      for (const auto& [begin, end] : pieces.ranges)
        encode_piece(std::string_view(pieces.text).substr(begin, end - begin), encoder, ids);
    }
  }
  return ids;
}

void TokenizerJson::encode_piece(std::string_view piece, BpeEncoder& encoder, std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    const auto whole = pieces_.find(std::string(piece));
    if (whole != pieces_.end()) return ids.push_back(whole->second);
  }
  encoder.add(symbols_of(piece));
}

/// Bytes or characters. What has no token becomes bytes, or the unknown token, or, without one, nothing.
std::vector<int32_t> TokenizerJson::symbols_of(std::string_view piece) const {
  std::vector<int32_t> symbols;
  symbols.reserve(piece.size());
  bool after_unknown = false;
  for (size_t at = 0; at < piece.size();) {
    const Character c = byte_level_ ? Character{0, 1, true} : first_character(piece.substr(at));
    const std::string_view bytes = piece.substr(at, c.length);
    at += c.length;
    int32_t symbol = -1;
    if (byte_level_)
      symbol = bytes_[uint8_t(bytes[0])];
    else if (const auto found = characters_.find(c.code); found != characters_.end())
      symbol = found->second;
    const bool known = symbol >= 0;
    if (known) symbols.push_back(symbol);
    const auto has_token = [&](char byte) { return bytes_[uint8_t(byte)] >= 0; };
    const bool as_bytes =
        !known && byte_fallback_ && !byte_level_ && std::all_of(bytes.begin(), bytes.end(), has_token);
    if (as_bytes)
      for (const char byte : bytes) symbols.push_back(bytes_[uint8_t(byte)]);
    const bool unknown = !known && !as_bytes;
    if (unknown && unknown_ >= 0 && !(fuse_unknown_ && after_unknown)) symbols.push_back(unknown_);
    after_unknown = unknown;
  }
  return symbols;
}

bool TokenizerJson::is_special(int32_t id) const {
  check_id(id);
  const auto found = added_by_id_.find(id);
  return found != added_by_id_.end() && added_[found->second].special;
}

std::string TokenizerJson::bytes_of(int32_t id, bool begins) const {
  if (is_special(id)) return "";
  std::string text = tokens_[size_t(id)];
  for (const auto& step : decode_steps_) text = step(std::move(text), begins);
  return text;
}

std::string TokenizerJson::name_of(int32_t id) const { return is_special(id) ? tokens_[size_t(id)] : bytes_of(id); }

}  // namespace rungs
