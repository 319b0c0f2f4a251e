#include "rungs/tokenizer/tiktoken.hpp"

#include <fmt/format.h>

#include <charconv>

#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

namespace {

/// The bytes that a text in base64 stands for; none when it is not base64.
std::optional<std::string> read_base64(std::string_view text) {
  static const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = i + padding < text.size() ? digits.find(text[i]) : 0;
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | uint32_t(digit);
    if (i % 4 == 3) bytes += {char(bits >> 16), char(bits >> 8), char(bits)}, bits = 0;
  }
  for (size_t i = 0; i < padding; ++i) bytes.pop_back();
  return bytes;
}

/// Llama 3 names eleven of its 256 special tokens (those of 3.1); the others are reserved.
std::vector<std::string> llama3_specials() {
  std::vector<std::string> names = {"<|begin_of_text|>",
                                    "<|end_of_text|>",
                                    "<|reserved_special_token_0|>",
                                    "<|reserved_special_token_1|>",
                                    "<|finetune_right_pad_id|>",
                                    "<|step_id|>",
                                    "<|start_header_id|>",
                                    "<|end_header_id|>",
                                    "<|eom_id|>",
                                    "<|eot_id|>",
                                    "<|python_tag|>"};
  for (int reserved = 2; names.size() < 256; ++reserved)
    names.push_back(fmt::format("<|reserved_special_token_{}|>", reserved));
  return names;
}

}  // namespace

bool is_tiktoken(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  const size_t space = line.find(' ');
  return space != std::string_view::npos && space > 0 &&
         line.find_first_not_of("0123456789", space + 1) > line.size() &&
         line.substr(0, space).find_first_of(std::string_view("\0\n<", 3)) == std::string_view::npos;
}

Tiktoken::Tiktoken(const std::filesystem::path& path) : special_names_(llama3_specials()), pattern_(llama3_pattern) {
  const std::string name = path.string(), file = read_text(path);
  const std::string_view text = file;
  TokenLengths lengths;
  for (size_t at = 0, line = 1; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = text.substr(at, end - at);
    at = end + 1;
    const auto fail = [&](const std::string& what) {
      throw FileError(fmt::format("{}: line {}: {}", name, line, what));
    };
    const size_t space = row.find(' ');
    if (space == std::string_view::npos) fail("wanted base64, a space and a rank");
    std::optional<std::string> token = read_base64(row.substr(0, space));
    if (!token) fail("wanted a token in base64");
    if (token->size() > longest_token)
      fail(fmt::format("the token has {} bytes; those of up to {} are read", token->size(), longest_token));
    lengths.set(token->size());
    size_t rank = 0;
    const std::string_view digits = row.substr(space + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) fail("wanted a rank after the space");
    if (rank != tokens_.size()) fail(fmt::format("wanted rank {}, found {}", tokens_.size(), rank));
    tokens_.push_back(std::move(*token));
  }
  if (tokens_.empty()) throw FileError(name + ": wanted a token a line, found an empty file");
  ids_.reserve(tokens_.size());
  for (size_t id = 0; id < tokens_.size(); ++id)
    if (const auto [other, is_new] = ids_.emplace(tokens_[id], int32_t(id)); !is_new)
      throw FileError(fmt::format("{}: lines {} and {} hold the same token", name, other->second + 1, id + 1));
  for (int b = 0; b < 256; ++b) {
    const auto found = ids_.find(std::string(1, char(b)));
    if (found == ids_.end()) throw FileError(fmt::format("{}: there is no token for byte 0x{:02X}", name, b));
    bytes_[size_t(b)] = found->second;
  }

  std::vector<MergeRule> rules;
  std::vector<TokenEnds> ends;
  for (size_t id = 0; id < tokens_.size(); ++id) {
    const std::string_view token = tokens_[id];
    for (size_t cut = 1; cut < token.size(); ++cut) {
      if (!lengths[cut] || !lengths[token.size() - cut]) continue;
      const auto left = ids_.find(token.substr(0, cut));
      if (left == ids_.end()) continue;
      const auto right = ids_.find(token.substr(cut));
      if (right != ids_.end()) rules.push_back({left->second, right->second, int32_t(id), int32_t(id)});
    }
    ends.push_back({bytes_[uint8_t(token.front())], bytes_[uint8_t(token.back())]});
  }
  merges_ = Merges(rules, ends);

  std::vector<std::pair<std::string, int32_t>> specials;
  for (const std::string& special : special_names_)
    specials.emplace_back(special, int32_t(tokens_.size() + specials.size()));
  specials_ = AddedTokens(specials);
  bos_ = int32_t(tokens_.size());
  eos_ = int32_t(tokens_.size()) + 1;
}

std::vector<int32_t> Tiktoken::encode(std::string_view text) const {
  const std::string valid = is_utf8(text) ? "" : valid_utf8(text);
  std::vector<int32_t> ids, symbols;
  ids.reserve(text.size() / 3);
  BpeEncoder encoder(merges_, ids);
  for (const std::string_view piece : split(valid.empty() ? text : valid, pattern_)) {
    if (const auto whole = ids_.find(piece); whole != ids_.end()) {
      ids.push_back(whole->second);
      continue;
    }
    symbols.clear();
    for (const char byte : piece) symbols.push_back(bytes_[uint8_t(byte)]);
    encoder.add(symbols);
  }
  return ids;
}

std::vector<int32_t> Tiktoken::encode_with_specials(std::string_view text) const {
  return specials_.encode_between(text, [this](std::string_view part) { return encode(part); });
}

bool Tiktoken::is_special(int32_t id) const {
  check_id(id);
  return size_t(id) >= tokens_.size();
}

std::string Tiktoken::bytes_of(int32_t id, bool) const { return is_special(id) ? "" : tokens_[size_t(id)]; }

std::string Tiktoken::name_of(int32_t id) const {
  return is_special(id) ? special_names_[size_t(id) - tokens_.size()] : tokens_[size_t(id)];
}

}  // namespace rungs
