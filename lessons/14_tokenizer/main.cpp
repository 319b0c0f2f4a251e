// Lesson 14: text to tokens and back, byte by byte.
#include <fmt/format.h>

#include <algorithm>

#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/tensor/tap.hpp"

using namespace lesson_14;

/// The bytes of a token as one may print them: what is not ASCII or a half of something in hexadecimal.
static std::string shown(const std::string& bytes) {
  std::string text;
  for (const char c : bytes)
    text += c == '\n' ? "\\n" : c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\x{:02x}", uint8_t(c));
  return text;
}

static std::string row_of(const BpeTables& bpe, const int32_t* ids, int64_t n) {
  std::string row;
  for (int64_t i = 0; i < n; ++i) row += "[" + shown(bpe.tokens[size_t(ids[i])]) + "]";
  return row;
}

static int64_t characters(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return character_length(uint8_t(c)) > 0; });
}

int main(int argc, char** argv) {
  const BpeTables bpe = load_bpe_tables(weights_directory() / "references/models/bpe_small/tokenizer.json");
  fmt::print("{} tokens: {} special, 256 bytes, {} made by merges\n", bpe.tokens.size(), bpe.specials.size(),
             bpe.merges.size());
  std::vector<std::pair<int32_t, int32_t>> learned;  // rank, token
  for (const auto& [pair, merge] : bpe.merges) learned.emplace_back(merge.rank, merge.token);
  std::sort(learned.begin(), learned.end());
  fmt::print("the first merges make:");
  for (size_t i = 0; i < 12; ++i) fmt::print(" [{}]", shown(bpe.tokens[size_t(learned[i].second)]));

  // One piece, merge by merge.
  for (const char* piece : {" her", " took", "idées", "zzzzz"}) {
    fmt::print("\n\nthe piece '{}'\n", piece);
    watch_taps([&](const std::string& name, const Tensor& ids) {
      fmt::print("  {:<8} {}\n", name, row_of(bpe, ids.data<int32_t>(), ids.count()));
    });
    const std::vector<int32_t> ids = merge(bpe, piece);
    watch_taps({});
    fmt::print("  ids     ");
    for (const int32_t id : ids) fmt::print(" {}", id);
  }

  // Whole texts: pieces, then tokens.
  const std::string plain = argc > 1 ? argv[1] : "Tom  said: it's 20245", text = "<bos>" + plain + "<eos>";
  const std::vector<int32_t> ids = encode(bpe, text);
  fmt::print(
      "\n\n{}\n  pieces {}\n  tokens {}\n", text,
      [&] {
        std::string pieces;
        for (const std::string_view piece : bpe.split(plain)) pieces += "[" + std::string(piece) + "]";
        return pieces;
      }(),
      row_of(bpe, ids.data(), int64_t(ids.size())));

  fmt::print("\ncharacters  bytes  tokens\n");
  for (const std::string sample : {"Once upon a time there was a happy fox.", "C'était un bel été, très léger.",
                                   "你们好，世界。", "👩‍🚀🦊😀"})
    fmt::print("{:>10}{:>7}{:>8}  {}\n", characters(sample), sample.size(), encode(bpe, sample).size(), sample);

  // The same tokens one by one, as a model makes them.
  fmt::print("\ntoken  its bytes          goes out    is held\n");
  std::string held;
  for (const int32_t id : encode(bpe, "é 世🦊!")) {
    const std::string out = decode_next(bpe, id, held);
    fmt::print("{:>5}  {:<18} {:<11} {}\n", id, shown(bpe.tokens[size_t(id)]), shown(out) == out ? out : out + " ",
               shown(held));
  }

  // Where merges come from: counted in a text, here of four words.
  std::vector<std::string> pieces, tokens;
  for (const auto& [word, times] : {std::pair("low", 5), {"lower", 2}, {"newest", 6}, {"widest", 3}})
    pieces.insert(pieces.end(), size_t(times), word);
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, char(byte));
  fmt::print("\nlearned from 5 times low, 2 lower, 6 newest, 3 widest:");
  for (const auto& [left, right] : learn_merges(pieces, 10)) {
    tokens.push_back(tokens[size_t(left)] + tokens[size_t(right)]);
    fmt::print(" [{}]", shown(tokens.back()));
  }
  fmt::print("\n");
}
