// Lesson 2: a sentence becomes ids, then vectors, then a guess at each next token.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/generate/sampler.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace lesson_02;

/// The ids of BOS and a text.  (T) i32
static Tensor tokens_of(const Vocabulary& vocabulary, const std::string& text) {
  std::vector<int32_t> ids = encode(vocabulary.tokens(), text);
  ids.insert(ids.begin(), *vocabulary.bos());
  Tensor tokens({int64_t(ids.size())}, DType::i32);
  std::copy(ids.begin(), ids.end(), tokens.data<int32_t>());
  return tokens;
}

static std::string quoted(const Vocabulary& vocabulary, int64_t id) {
  return fmt::format("'{}'", vocabulary.tokens()[size_t(id)]);
}

/// The first channels of one vector.
static void show(const char* name, const Tensor& vector) {
  fmt::print("  {:<26}", name);
  for (int64_t c = 0; c < 6; ++c) fmt::print("{:>8.3f}", vector(c));
  fmt::print("  ... {} more\n", vector.count() - 6);
}

/// The three most probable next tokens.  logits: (V)
static std::string guesses(const Vocabulary& vocabulary, const Tensor& logits) {
  std::vector<float> share(size_t(logits.count()));
  std::vector<int32_t> order;
  probabilities(share, {logits.data(), share.size()}, {.temperature = 1}, order);
  std::string text;
  for (int n = 0; n < 3; ++n) {
    const auto best = std::max_element(share.begin(), share.end());
    text += fmt::format("{:>12} {:.1f}%", quoted(vocabulary, best - share.begin()), 100 * *best);
    *best = 0;
  }
  return text;
}

int main(int argc, char** argv) {
  const auto directory = weights_directory() / "decoder";
  const DecoderCheckpoint model(directory);
  const Vocabulary vocabulary(directory / "vocabulary.json");
  const DecoderWeights& w = model.weights;
  CpuOps ops;

  fmt::print("texts, cut into tokens\n");
  for (const char* text : {"the cat", " the cat", "they then met the theorist"}) {
    fmt::print("  {:<30}", fmt::format("\"{}\"", text));
    for (const int32_t id : encode(vocabulary.tokens(), text)) fmt::print(" {}", quoted(vocabulary, id));
    fmt::print("\n");
  }

  const char* sentences[] = {"the cat and the dog", argc > 1 ? argv[1] : "the dog and the cat"};
  const Tensor first = tokens_of(vocabulary, sentences[0]);  // (T) i32
  Tensor x({first.count(), model.config.hidden_size});       // (T, C)
  embed(x, first, w.token_embedding, w.position_embedding);
  fmt::print("\nthe same word at two positions: x {} of \"{}\"\n", to_string(x.shape()), sentences[0]);
  show("token_embedding, row 340", w.token_embedding[340]);
  show("position_embedding, row 1", w.position_embedding[1]);
  show("x, row 1: their sum", x[1]);
  show("position_embedding, row 4", w.position_embedding[4]);
  show("x, row 4: the other sum", x[4]);

  for (const char* text : sentences) {
    const Tensor tokens = tokens_of(vocabulary, text);   // (T) i32
    Tensor logits({tokens.count(), vocabulary.size()});  // (T, V)
    decoder_forward(ops, logits, tokens, w);
    fmt::print("\n\"{}\": logits {}, and the best three of each row\n", text, to_string(logits.shape()));
    for (int64_t t = 0; t < tokens.count(); ++t) {
      const int32_t id = tokens.at<int32_t>(t);
      fmt::print("  position {}  id {:>3}  {:<8}{}\n", t, id, quoted(vocabulary, id), guesses(vocabulary, logits[t]));
    }
  }
}
