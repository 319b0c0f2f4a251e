// Lesson 8: the KV cache, beside lesson 7.
#include <fmt/format.h>

#include "07_generate/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/print.hpp"
#include "rungs/tensor/tap.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;
using Ids = std::vector<int32_t>;

/// Counts the rows that are multiplied by a weight matrix.
struct CountingOps : CpuOps {
  int64_t rows = 0;
  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override {
    rows += x.rows();
    CpuOps::linear(out, x, weight, bias);
  }
};

int main(int argc, char** argv) {
  const DecoderCheckpoint model(weights_directory() / "decoder");
  const Vocabulary words(weights_directory() / "decoder" / "vocabulary.json");
  const int64_t L = model.config.num_layers, D = model.config.head_dim, V = words.size();
  CountingOps ops;
  Ids prompt = words.encode(argc > 1 ? argv[1] : "Once upon a time, there");
  prompt.insert(prompt.begin(), *words.bos());

  const int64_t T = int64_t(prompt.size()), half = (T + 1) / 2;
  KvCache cache;
  for (int64_t i = 0; i < L; ++i) cache.layers.push_back({Tensor({T, D}), Tensor({T, D})});  // (capacity, D)
  const auto feed = [&](int64_t first, int64_t n) {
    const Tensor tokens = Tensor::view_of(prompt.data() + first, {n}, DType::i32);  // (n)
    Tensor logits({n, V});                                                          // (n, V)
    watch_taps([&](const std::string& name, const Tensor& weights) {
      std::vector<std::string> rows;
      for (int64_t t = first; t < first + n; ++t) rows.push_back(words.tokens()[size_t(prompt[size_t(t)])]);
      const std::string title = fmt::format("{} tokens after {}: attention weights of the last layer", n, first);
      if (name == fmt::format("layers.{}.weights", L - 1)) print(title, weights, rows);
    });
    lesson_08::decoder_forward(ops, logits, tokens, model.weights, cache, first);
    watch_taps({});
    fmt::print("\n");
  };
  feed(0, T);     // the prompt in one call
  feed(0, half);  // the same in two: the rows of the second are the last of the first
  feed(half, T - half);

  const auto made = [&](const auto& generate, int64_t n) {
    ops.rows = 0;
    return generate(ops, model.weights, prompt, {.max_tokens = n}, [] { return 0.0; });
  };
  const std::string& end = words.tokens()[size_t(prompt.back())];
  fmt::print("The same text\n");
  fmt::print("  lesson 7: ...{} {}\n", end, words.decode(made(lesson_07::generate, 16)));
  fmt::print("  lesson 8: ...{} {}\n", end, words.decode(made(lesson_08::generate, 16)));

  fmt::print("\nRows multiplied by a weight matrix, after a prompt of {} tokens\n", T);
  for (const int64_t n : {1, 16, 32, 64, 128}) {
    made(lesson_07::generate, n);
    const int64_t without = ops.rows;
    made(lesson_08::generate, n);
    fmt::print("  to make {:>3}: lesson 7 {:>6}, lesson 8 {:>4}\n", n, without, ops.rows);
  }

  const int64_t token = 2 * L * D * 4;  // keys and values, float32
  fmt::print("\nThe cache takes {} bytes a token, {} for the whole context\n", token, token * model.config.max_seq_len);

  fmt::print("\n");
  for (const bool cached : {false, true}) {
    const double start = now();
    cached ? made(lesson_08::generate, 64) : made(lesson_07::generate, 64);
    fmt::print("time to make 64 tokens in lesson {}: {:.0f} ms\n", cached ? 8 : 7, 1e3 * (now() - start));
  }
}
