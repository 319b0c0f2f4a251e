// Lesson 6: no token sees the future, and the model is whole.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "05_attention/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/model/decoder_around.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/tap.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;

/// A line for each row: its name, its elements, their sum.
void show(const std::string& title, const Tensor& weights, const std::vector<std::string>& names) {
  fmt::print("{}\n", title);
  for (int64_t t = 0; t < weights.rows(); ++t) {
    const std::span<const float> row(weights[t].data(), names.size());
    fmt::print("{:>7} {:6.2f}   sum {:.2f}\n", names[size_t(t)], fmt::join(row, ""),
               std::reduce(row.begin(), row.end()));
  }
}

int main(int argc, char** argv) {
  // Three ways to hide the last key from a query whose scores are 0, 1 and 3.
  float scores[] = {0, 1, -INFINITY, 0, 1, 0, 0, 1, 3};
  Tensor ways = Tensor::view_of(scores, {3, 3}, DType::f32);
  lesson_05::softmax(ways);
  ways(2, 2) = 0;
  show("scores 0, 1, 3; the last key hidden by", ways, {"-inf", "0", "after"});

  const DecoderCheckpoint model(weights_directory() / "decoder");
  const Vocabulary vocabulary(weights_directory() / "decoder/vocabulary.json");
  const auto next_word = [&](const std::string& text, const auto& decoder_forward) {
    std::vector<int32_t> ids = vocabulary.encode(text);
    ids.insert(ids.begin(), *vocabulary.bos());
    CpuOps ops;
    Tensor logits({int64_t(ids.size()), model.config.vocab_size});  // (T, V)
    decoder_forward(ops, logits, Tensor::view_of(ids.data(), {logits.rows()}, DType::i32), model.weights);
    lesson_05::softmax(logits);
    return logits;  // row t: the probabilities of what follows token t
  };
  const auto best = [&](const Tensor& probabilities, int64_t t, int count) {
    std::string text;
    for (Tensor row = probabilities[t].copy(); count > 0; --count) {  // (V)
      float* p = std::max_element(row.data(), row.data() + row.count());
      text += fmt::format("  {} {:.2f}", vocabulary.tokens()[size_t(p - row.data())], *p);
      *p = 0;
    }
    return text;
  };
  // One layer without its mask and with it.
  const std::string usual = "Lily had a red ball. She took the", sentence = argc > 1 ? argv[1] : usual;
  std::map<std::string, Tensor> seen;
  watch_taps([&](const std::string& name, const Tensor& tapped) { seen[name] = tapped.copy(); });
  next_word(sentence, lesson_06::decoder_forward);
  lesson_05::softmax(seen["layers.1.scores"]);
  std::vector<std::string> words = {"<bos>"};
  for (const int32_t id : vocabulary.encode(sentence)) words.emplace_back(vocabulary.text_of(id));
  show(fmt::format("\nlayer 1 {:>6}\nwithout the mask", fmt::join(words, "")), seen["layers.1.scores"], words);
  show("with the mask", seen["layers.1.weights"], words);

  const auto without_mask = [](Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
    decoder_around(lesson_05::attention, ops, logits, tokens, w);
  };
  // What follows a word must not change the guess made after it.
  fmt::print("\n{:40}no mask     mask\n", "The word after \"red\"");
  for (const std::string& text : {std::string("Lily had a red"), usual})
    fmt::print("  {:36}{}{}\n", text, best(next_word(text, without_mask), 4, 1),
               best(next_word(text, lesson_06::decoder_forward), 4, 1));
  fmt::print("\nThe next word, with the mask\n");
  for (const char* text : {"Once upon a time, there was a", "Mia could not find", "Leo could not find",
                           argc > 1 ? argv[1] : "Tom gave Lily a cake. Lily ate the"}) {
    const Tensor probabilities = next_word(text, lesson_06::decoder_forward);
    fmt::print("  {:36}{}\n", text, best(probabilities, probabilities.rows() - 1, 3));
  }
}
