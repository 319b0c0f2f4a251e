// Lesson 9: a row with its heads apart, and where each head of a trained model looks.
#include <fmt/format.h>

#include <algorithm>

#include "05_attention/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/print.hpp"
#include "rungs/tensor/tap.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;
using Ids = std::vector<int32_t>;

int main(int argc, char** argv) {
  Tensor x({2, 6});  // (N, H·D): two tokens, three heads of width 2
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = float(i);
  const std::vector<std::string> tokens{"token 0", "token 1"};
  print("two rows, as a projection writes them", x, tokens);
  const Tensor apart = lesson_09::split_heads(x, 3);  // (2, 3, 2)
  fmt::print("\n");
  print("the same memory with its heads apart", apart,
        {"token 0  head 0", "         head 1", "         head 2", "token 1  head 0", "         head 1",
         "         head 2"});
  fmt::print("\n");
  print("head 1 alone", lesson_09::one_head(apart, 1), tokens);

  const DecoderCheckpoint model(weights_directory() / "hybrid" / "09_multi_head");
  const Vocabulary words(weights_directory() / "hybrid" / "09_multi_head" / "vocabulary.json");
  const Config& c = model.config;
  CpuOps ops;
  const auto logits_behind = [&](const Ids& text) {
    const auto T = int64_t(text.size());
    KvCache cache;
    const Shape room{T, c.num_heads, c.head_dim};  // (capacity, H, D)
    for (int64_t i = 0; i < c.num_layers; ++i) cache.layers.push_back({Tensor(room), Tensor(room)});
    Tensor logits({T, c.vocab_size});  // (T, V)
    lesson_09::decoder_forward(ops, logits, Tensor::view_of(text.data(), {T}, DType::i32), model.weights, cache, 0);
    return logits;
  };
  const auto ids = [&](const char* sentence) {
    Ids text = words.encode(sentence);
    text.insert(text.begin(), *words.bos());
    return text;
  };

  const Ids begin = ids(argc > 1 ? argv[1] : "Once upon a time, there was a");
  std::vector<std::string> names;
  for (const int32_t id : begin) names.push_back(words.tokens()[size_t(id)]);
  watch_taps([&](const std::string& name, const Tensor& weights) {  // (H, T, S)
    if (name != "layers.1.weights") return;
    const int64_t T = weights.dim(1);
    Tensor last({T, c.num_heads});  // (S, H): what the last token reads
    for (int64_t s = 0; s < T; ++s)
      for (int64_t h = 0; h < c.num_heads; ++h) last(s, h) = weights(h, T - 1, s);
    fmt::print("\n");
    print("layer 1: how much each head of the last token reads of each token", last, names);
  });
  logits_behind(begin);
  watch_taps({});

  fmt::print("\nthe next word\n");
  for (const char* sentence : {"Lily had a red ball. She took the", "Leo could not find", "Mia could not find",
                               argc > 1 ? argv[1] : "Tom gave Lily a cake. Lily ate the"}) {
    Tensor logits = logits_behind(ids(sentence));
    Tensor last = logits.view_rows(logits.dim(0) - 1, 1);  // (1, V)
    lesson_05::softmax(last);
    const float* best = std::max_element(last.data(), last.data() + last.count());
    fmt::print("  {:<38}{} {:.2f}\n", sentence, words.tokens()[size_t(best - last.data())], *best);
  }
}
