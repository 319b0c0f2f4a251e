#include "rungs/tokenizer/sentencepiece.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rungs/base/error.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

namespace {

/// The byte that "<0x0A>" names; -1: none.
int byte_of(const std::string& name) {
  int byte = -1, length = 0;
  if (name.size() == 6 && std::sscanf(name.c_str(), "<0x%2X>%n", reinterpret_cast<unsigned*>(&byte), &length) == 1 &&
      length == 6)
    return byte;
  return -1;
}

/// The first and the last character.
std::pair<std::string_view, std::string_view> outer_characters(std::string_view text) {
  size_t last = text.size() - 1;
  while (last > 0 && (text[last] & 0xC0) == 0x80) --last;
  return {text.substr(0, first_character(text).length), text.substr(last)};
}

}  // namespace

SentencePiece::SentencePiece(SentencePieceModel model, const std::string& name) : model_(std::move(model)) {
  const auto fail = [&](const std::string& what) { throw FileError(name + ": " + what); };
  std::vector<std::pair<std::string, int32_t>> user_defined, specials;
  model_.unknown = -1;
  bytes_.assign(256, -1);
  for (int32_t id = 0; id < size(); ++id) {
    const SentencePieceModel::Piece& piece = model_.pieces[size_t(id)];
    if (piece.text.empty()) fail(fmt::format("piece {} is empty", id));
    if (piece.text.size() > longest_token)
      fail(fmt::format("piece {} has {} bytes; those of up to {} are read", id, piece.text.size(), longest_token));
    if (!is_utf8(piece.text)) fail(fmt::format("piece {} is not UTF-8", id));
    if (!std::isfinite(piece.score)) fail(fmt::format("piece {} has the score {}", id, piece.score));
    switch (piece.kind) {
      case PieceKind::normal:
        break;
      case PieceKind::unknown:
        if (model_.unknown >= 0) fail(fmt::format("pieces {} and {} both stand for the unknown", model_.unknown, id));
        model_.unknown = id;
        break;
      case PieceKind::control:
        specials.emplace_back(piece.text, id);
        break;
      case PieceKind::user_defined:
        user_defined.emplace_back(piece.text, id);
        break;
      case PieceKind::byte:
        if (byte_of(piece.text) < 0) fail(fmt::format("piece {} is to be a byte, and is {:?}", id, piece.text));
        bytes_[size_t(byte_of(piece.text))] = id;
        break;
      default:
        fail(fmt::format("piece {} is of kind {}; known are 1 to 4 and 6", id, int(piece.kind)));
    }
  }
  if (model_.unknown < 0) fail("no piece stands for the unknown");
  const auto missing = std::find(bytes_.begin(), bytes_.end(), -1);
  if (model_.byte_fallback && missing != bytes_.end())
    fail(fmt::format("there is no piece for byte 0x{:02X}", missing - bytes_.begin()));
  bos_ = model_.bos;
  eos_ = model_.eos;
  specials_ = AddedTokens(specials);
  user_defined_ = AddedTokens(user_defined);
  make_rules(name);
}

void SentencePiece::make_rules(const std::string& name) {
  std::unordered_map<std::string_view, int32_t> ids;
  std::vector<float> scores;
  TokenLengths lengths{0b11110};  // and those of single characters
  for (int32_t id = 0; id < size(); ++id) {
    const SentencePieceModel::Piece& piece = model_.pieces[size_t(id)];
    if (piece.kind != PieceKind::normal) continue;
    const auto [other, is_new] = ids.emplace(piece.text, id);
    if (!is_new)
      throw FileError(fmt::format("{}: pieces {} and {} are both {:?}", name, other->second, id, piece.text));
    scores.push_back(piece.score);
    lengths.set(piece.text.size());
    if (const Character c = first_character(piece.text); c.length == piece.text.size()) characters_.emplace(c.code, id);
  }
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());

  // Every way to cut a piece in two is a rule, where both halves can arise: as pieces, or as single characters.
  const auto symbol_of = [&](std::string_view text) {
    const Character c = first_character(text);
    if (c.length < text.size()) {
      const auto found = ids.find(text);
      return found == ids.end() ? -1 : found->second;
    }
    const auto [symbol, is_new] = characters_.emplace(c.code, int32_t(size()) + int32_t(helpers_.size()));
    if (is_new) helpers_.emplace_back(text);
    return symbol->second;
  };
  std::vector<MergeRule> rules;
  for (const auto& [text, id] : ids) {
    const float score = model_.pieces[size_t(id)].score;
    const auto rank = std::lower_bound(scores.begin(), scores.end(), score, std::greater<>()) - scores.begin();
    for (size_t cut = first_character(text).length; cut < text.size();
         cut += first_character(text.substr(cut)).length) {
      if (!lengths[cut] || !lengths[text.size() - cut]) continue;
      const int32_t left = symbol_of(text.substr(0, cut)), right = symbol_of(text.substr(cut));
      if (left >= 0 && right >= 0) rules.push_back({left, right, int32_t(rank), id});
    }
  }
  std::vector<TokenEnds> ends;
  const auto set_ends = [&](int32_t id, std::string_view text) {
    const auto [first, last] = outer_characters(text);
    const TokenEnds symbols{symbol_of(first), symbol_of(last)};  // a helper more, where no rule has that character
    ends.resize(size_t(size()) + helpers_.size());
    ends[size_t(id)] = symbols;
  };
  for (const auto& [text, id] : ids) set_ends(id, text);
  for (size_t i = 0; i < helpers_.size(); ++i) set_ends(int32_t(size()) + int32_t(i), helpers_[i]);
  merges_ = Merges(rules, ends);
}

/// The text as the pieces know it: valid UTF-8, one kind of space, one space in front.
std::string SentencePiece::prepare(std::string_view text) const {
  std::string ready;
  ready.reserve(text.size() + 1);
  if (model_.space_in_front) ready += ' ';
  const size_t front = ready.size();
  bool after_space = model_.one_space_for_many;
  for (size_t at = 0; at < text.size();) {
    const Character c = first_character(text.substr(at));
    const std::string_view bytes = text.substr(at, c.length);
    if (!c.valid) {
      for (int i = 0; i < c.length; ++i) append_utf8(ready, c.code);  // the library's rule: one for each byte
    } else if (bytes == lower_line && model_.lower_line_is_space) {
      ready += ' ';
    } else if (!(bytes == " " && after_space)) {
      ready += bytes;
    }
    after_space = model_.one_space_for_many && bytes == " ";
    at += c.length;
  }
  while (model_.one_space_for_many && ready.size() > front && ready.back() == ' ') ready.pop_back();
  return ready.size() > front ? ready : "";
}

void SentencePiece::put_unknown(std::string_view character, std::vector<int32_t>& ids) const {
  if (model_.byte_fallback)
    for (const char byte : character) ids.push_back(bytes_[uint8_t(byte)]);
  else if (ids.empty() || ids.back() != model_.unknown)  // several in a row count as one
    ids.push_back(model_.unknown);
}

void SentencePiece::add(std::string_view text, BpeEncoder& encoder, std::vector<int32_t>& ids) const {
  std::vector<int32_t> symbols;
  symbols.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    const auto found = characters_.find(c.code);
    if (found == characters_.end()) {
      encoder.add(symbols);
      symbols.clear();
      put_unknown(text.substr(0, c.length), ids);
    } else {
      symbols.push_back(found->second);
    }
    text.remove_prefix(c.length);
  }
  encoder.add(symbols);
}

std::vector<int32_t> SentencePiece::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3);
  BpeEncoder encoder(merges_, ids);
  const std::string ready = prepare(text);
  for (const AddedTokens::Stretch& part : user_defined_.parts(ready))
    if (part.id >= 0)
      ids.push_back(part.id);
    else
      add(part.text, encoder, ids);
  if (helpers_.empty()) return ids;
  std::vector<int32_t> whole;  // without the characters that did not become part of a piece
  for (const int32_t id : ids)
    if (id < size())
      whole.push_back(id);
    else
      put_unknown(helpers_[size_t(id - size())], whole);
  return whole;
}

std::vector<int32_t> SentencePiece::encode_with_specials(std::string_view text) const {
  return specials_.encode_between(text, [this](std::string_view part) { return encode(part); });
}

bool SentencePiece::is_special(int32_t id) const {
  check_id(id);
  return model_.pieces[size_t(id)].kind == PieceKind::control;
}

std::string SentencePiece::bytes_of(int32_t id, bool begins) const {
  check_id(id);
  const SentencePieceModel::Piece& piece = model_.pieces[size_t(id)];
  switch (piece.kind) {
    case PieceKind::control:
      return "";
    case PieceKind::unknown:
      return model_.unknown_text;
    case PieceKind::byte:
      return {char(byte_of(piece.text))};
    default:
      const bool drops = begins && (model_.space_in_front || model_.one_space_for_many) && piece.text[0] == ' ';
      return piece.text.substr(drops);
  }
}

std::string SentencePiece::name_of(int32_t id) const {
  return is_special(id) || id == model_.unknown ? model_.pieces[size_t(id)].text : bytes_of(id);
}

std::string SentencePiece::decode(std::span<const int32_t> ids) const {
  if (!model_.one_space_for_many) return Tokenizer::decode(ids);
  std::string text;  // no space stands in front of the first word, however many tokens hold one
  for (const int32_t id : ids) text += bytes_of(id, text.empty());
  return text;
}

}  // namespace rungs
