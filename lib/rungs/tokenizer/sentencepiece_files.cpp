// The two files that hold SentencePiece models.
#include <fmt/format.h>

#include <cmath>

#include "rungs/base/file.hpp"
#include "rungs/tokenizer/protobuf.hpp"
#include "rungs/tokenizer/sentencepiece.hpp"

namespace rungs {

static std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed;
  for (size_t found; (found = text.find(from)) != std::string_view::npos; text.remove_prefix(found + from.size()))
    changed.append(text.substr(0, found)).append(to);
  return changed.append(text);
}
std::string with_spaces(const std::string& piece) { return replaced(piece, lower_line, " "); }
std::string with_lower_lines(const std::string& piece) { return replaced(piece, " ", lower_line); }

namespace {

SentencePieceModel::Piece read_piece(ProtobufFields fields) {
  SentencePieceModel::Piece piece;
  while (fields.next()) {
    if (fields.field == 1) piece.text = with_spaces(std::string(fields.bytes));
    if (fields.field == 2) piece.score = fields.real();
    if (fields.field == 3) piece.kind = PieceKind(fields.number);
  }
  return piece;
}

}  // namespace

SentencePieceModel read_sentencepiece(const std::filesystem::path& path) {
  const std::string name = path.string(), file = read_text(path);
  const auto fail = [&](const std::string& what) { throw FileError(name + ": " + what); };
  SentencePieceModel model;
  model.byte_fallback = false;
  model.one_space_for_many = true;
  std::string type = "Unigram", normalizer, charsmap;
  int32_t bos = 1, eos = 2;
  const auto read_trainer = [&](ProtobufFields fields) {
    static const char* const types[] = {"", "Unigram", "BPE", "Word", "Char"};
    while (fields.next()) {
      if (fields.field == 3) type = fields.number < 5 ? types[fields.number] : std::to_string(fields.number);
      if (fields.field == 24 && fields.number) fail("a space behind each word is not supported");
      if (fields.field == 35) model.byte_fallback = fields.number != 0;
      if (fields.field == 41) bos = int32_t(fields.number);
      if (fields.field == 42) eos = int32_t(fields.number);
      if (fields.field == 44) model.unknown_text = fields.bytes;
    }
  };
  const auto read_normalizer = [&](ProtobufFields fields) {
    while (fields.next()) {
      if (fields.field == 1) normalizer = fields.bytes;
      if (fields.field == 2) charsmap = fields.bytes;
      if (fields.field == 3) model.space_in_front = fields.number != 0;
      if (fields.field == 4) model.one_space_for_many = fields.number != 0;
      if (fields.field == 5 && !fields.number) fail("plain spaces in pieces are not supported");
    }
  };
  for (ProtobufFields fields(file, name); fields.next();) {
    if (fields.field == 1) model.pieces.push_back(read_piece({fields.bytes, name}));
    if (fields.field == 2) read_trainer({fields.bytes, name});
    if (fields.field == 3) read_normalizer({fields.bytes, name});
  }
  if (type != "BPE") fail(fmt::format("its type is {}; known is BPE", type));
  if (!charsmap.empty()) fail(fmt::format("its normalizer is {}; known is identity", normalizer));
  const auto control = [&](int32_t id) {
    const bool is = id >= 0 && size_t(id) < model.pieces.size() && model.pieces[size_t(id)].kind == PieceKind::control;
    return is ? std::optional(id) : std::nullopt;
  };
  model.bos = control(bos);
  model.eos = control(eos);
  return model;
}

SentencePieceModel read_llama2c(const std::filesystem::path& path) {
  const std::string name = path.string(), file = read_text(path);
  constexpr size_t specials = 3, bytes = 256;  // <unk>, <s>, </s>, then a token for each byte
  SentencePieceModel model;
  model.lower_line_is_space = false;
  size_t at = 4;  // after the length of the longest token
  const auto take = [&](size_t count) {
    if (at > file.size() || count > file.size() - at)
      throw FileError(fmt::format("{}: token {} is cut short: wanted {} more bytes, found {}", name,
                                  model.pieces.size(), count, file.size() - std::min(at, file.size())));
    at += count;
    return file.data() + at - count;
  };
  while (at < file.size() || model.pieces.size() < specials + bytes) {
    SentencePieceModel::Piece piece;
    int32_t length = 0;
    std::memcpy(&piece.score, take(4), 4);
    std::memcpy(&length, take(4), 4);
    if (length < 0) throw FileError(fmt::format("{}: token {} has {} bytes", name, model.pieces.size(), length));
    piece.text.assign(take(size_t(length)), size_t(length));
    const size_t id = model.pieces.size();
    if (id == 0) piece.kind = PieceKind::unknown;
    if (id == 1 || id == 2) {
      piece.kind = PieceKind::control;
      piece.text = id == 1 ? "<s>" : "</s>";  // the file has them on lines of their own
    }
    if (id >= specials && id < specials + bytes) piece.kind = PieceKind::byte;
    model.pieces.push_back(std::move(piece));
  }
  model.bos = 1;
  model.eos = 2;
  return model;
}

}  // namespace rungs
