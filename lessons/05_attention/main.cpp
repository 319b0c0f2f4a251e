// Lesson 5: self-attention, with which a token reads the others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/generate/sampler.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/model/decoder_around.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/print.hpp"
#include "rungs/tensor/tap.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;

Tensor tensor(const Shape& shape, std::initializer_list<float> values) {
  Tensor t(shape);
  std::copy(values.begin(), values.end(), t.data());
  return t;
}

int main(int argc, char** argv) {
  // Three words, D = 2: small enough for a pencil.
  const std::vector<std::string> three = {"Lily", "ball", "took"};
  const Tensor q = tensor({3, 2}, {0, 0, 0, 2, 2, 1}), k = tensor({3, 2}, {0, 1, 1, 0, 0, 0});
  Tensor out({3, 2});
  watch_taps([&](const std::string& name, const Tensor& tapped) { print(name, tapped, three); });
  lesson_05::sdpa(out, q, k, tensor({3, 2}, {2, 8, 6, 0, 0, 4}));
  print("out", out, three);

  // Why the maximum is subtracted: between 88 and 89, exp leaves the range of float32.
  Tensor large = tensor({1, 3}, {90, 89, 88});
  lesson_05::softmax(large);
  fmt::print("\nexp(88) = {:.2e}, exp(89) = {}\n", std::exp(88.0f), std::exp(89.0f));
  print("softmax of 90, 89, 88", large);

  // Why √D: 100 queries and 100 keys whose elements are random, with mean 0 and variance 1; ten keys to a softmax.
  fmt::print("\n  D |   q·k: spread, largest weight |  q·k/√D: spread, largest weight\n");
  std::mt19937_64 random(5);
  for (const int64_t D : {4, 16, 64, 256}) {
    Tensor rows({200, D}), products({100, 100}), scores = products.reshaped({1000, 10});
    for (int64_t i = 0; i < rows.count(); ++i) rows.flat(i) = float(std::sqrt(12) * (draw(random) - 0.5));
    fmt::print("{:3}", D);
    for (const float divisor : {1.0f, std::sqrt(float(D))}) {
      double square = 0, largest = 0;
      matmul_transposed(products, rows.view_rows(0, 100), rows.view_rows(100, 100));
      for (int64_t i = 0; i < scores.count(); ++i) square += std::pow(scores.flat(i) /= divisor, 2);
      lesson_05::softmax(scores);
      for (int64_t t = 0; t < 1000; ++t) largest += *std::max_element(&scores(t, 0), &scores(t, 9) + 1);
      fmt::print(" |{:14.1f}{:16.2f}", std::sqrt(square / 10000), largest / 1000);
    }
    fmt::print("\n");
  }

  // The trained decoder reads a sentence, with nothing hidden from any word.
  const DecoderCheckpoint model(weights_directory() / "decoder");
  const Vocabulary vocabulary(weights_directory() / "decoder/vocabulary.json");
  std::vector<int32_t> ids = vocabulary.encode(argc > 1 ? argv[1] : "Lily had a red ball. She took the");
  ids.insert(ids.begin(), *vocabulary.bos());
  const int64_t T = int64_t(ids.size());
  Tensor logits({T, model.config.vocab_size}), weights;  // (T, V), (T, T)
  watch_taps([&](const std::string& name, const Tensor& tapped) {
    if (name == "layers.1.weights") weights = tapped.copy();
  });
  CpuOps ops;
  decoder_around(lesson_05::attention, ops, logits, Tensor::view_of(ids.data(), {T}, DType::i32), model.weights);
  lesson_05::softmax(logits);
  std::vector<std::string> words;
  for (const int32_t id : ids) words.push_back(vocabulary.tokens()[size_t(id)]);
  fmt::print("\nlayer 1 {:>6}   next word\n", fmt::join(words, ""));
  for (int64_t t = 0; t < T; ++t) {
    const float *row = &weights(t, 0), *best = std::max_element(&logits(t, 0), &logits(t, 0) + logits.cols());
    fmt::print("{:>7} {:6.2f} {:>10} {:.2f}\n", words[size_t(t)], fmt::join(row, row + T, ""),
               vocabulary.tokens()[size_t(best - &logits(t, 0))], *best);
  }
}
