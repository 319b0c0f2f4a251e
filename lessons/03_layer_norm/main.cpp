// Lesson 3: rows of any scale come out with mean 0 and variance 1, and the model's guesses become sharp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "02_embedding/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/generate/sampler.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/print.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace lesson_03;

/// "     2.5      1.25": the mean and the variance of a row.  row: (C)
static std::string statistics(const Tensor& row) {
  double mean = 0, variance = 0;
  for (int64_t c = 0; c < row.count(); ++c) mean += row(c) / double(row.count());
  for (int64_t c = 0; c < row.count(); ++c) variance += (row(c) - mean) * (row(c) - mean) / double(row.count());
  return fmt::format("{:>8.4g}{:>10.3g}", std::abs(mean) < 1e-6 ? 0 : mean, variance);
}

/// The most probable next token.  logits: (V)
static std::string guess(const Vocabulary& vocabulary, const Tensor& logits) {
  std::vector<float> share(size_t(logits.count()));
  std::vector<int32_t> order;
  probabilities(share, {logits.data(), share.size()}, {.temperature = 1}, order);
  const auto best = std::max_element(share.begin(), share.end());
  return fmt::format("'{}' {:.1f}%", vocabulary.tokens()[size_t(best - share.begin())], 100 * *best);
}

int main(int argc, char** argv) {
  const std::vector<std::string> names = {"one to four", "ten times that", "plus a hundred", "a thousandth",
                                          "all equal"};
  Tensor x({5, 4}), out({5, 4}), weight({4}), bias({4});  // x, out: (T, C); weight, bias: (C)
  for (int64_t c = 0; c < 4; ++c) {
    const float n = float(c + 1);
    x(0, c) = n, x(1, c) = 10 * n, x(2, c) = 100 + n, x(3, c) = n / 1000, x(4, c) = 5;
    weight(c) = 1, bias(c) = 0;
  }
  layer_norm(out, x, weight, bias, 1e-5f);
  print("x", x, names);
  print("LayerNorm of x, weight 1 and bias 0", out, names);
  fmt::print("before and after      mean  variance          mean  variance\n");
  for (int64_t t = 0; t < 5; ++t)
    fmt::print("  {:<16}{}      {}\n", names[size_t(t)], statistics(x[t]), statistics(out[t]));

  const auto directory = weights_directory() / "decoder";
  const DecoderCheckpoint model(directory);
  const Vocabulary vocabulary(directory / "vocabulary.json");
  std::vector<int32_t> ids = vocabulary.encode(argc > 1 ? argv[1] : "the cat and the dog");
  ids.insert(ids.begin(), *vocabulary.bos());
  const Tensor tokens = Tensor::view_of(ids.data(), {int64_t(ids.size())}, DType::i32);  // (T)
  const int64_t T = tokens.count();
  Tensor stream({T, model.config.hidden_size}), raw({T, vocabulary.size()}), logits({T, vocabulary.size()});
  CpuOps ops;
  lesson_02::embed(stream, tokens, model.weights.token_embedding, model.weights.position_embedding);
  lesson_02::decoder_forward(ops, raw, tokens, model.weights);
  decoder_forward(ops, logits, tokens, model.weights);
  fmt::print("\nafter            mean  variance   best guess without the final norm, and with it\n");
  for (int64_t t = 0; t < T; ++t) {
    const std::string token = fmt::format("'{}'", vocabulary.tokens()[size_t(ids[size_t(t)])]);
    fmt::print("  {:<11}{}   {:<18}{}\n", token, statistics(stream[t]), guess(vocabulary, raw[t]),
               guess(vocabulary, logits[t]));
  }
}
