// Lesson 4: the residual stream, and the feed-forward that adds to it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/print.hpp"
#include "rungs/tensor/tap.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;

Tensor tensor(const Shape& shape, std::initializer_list<float> values) {
  Tensor t(shape);
  std::copy(values.begin(), values.end(), t.data());
  return t;
}

/// How far row t of x is from row t of y; from zero where there is no y.
double length(int64_t t, const Tensor& x, const Tensor& y = {}) {
  double sum = 0;
  for (int64_t c = 0; c < x.cols(); ++c) sum += std::pow(x(t, c) - (y ? y(t, c) : 0), 2);
  return std::sqrt(sum);
}

int main(int argc, char** argv) {
  // Two matrices in a row are one, here the zero. With ReLU between them they give the absolute value.
  CpuOps ops;
  const Tensor up = tensor({2, 1}, {1, -1}), down = tensor({1, 2}, {1, 1});
  Tensor x = tensor({5, 1}, {-2, -1, 0, 1, 2}), hidden({5, 2}), y({5, 1});
  print("x", x.reshaped({1, 5}));
  for (const bool with_relu : {false, true}) {
    ops.linear(hidden, x, up, {});
    if (with_relu) lesson_04::relu(hidden);
    ops.linear(y, hidden, down, {});
    print(with_relu ? "up, ReLU, down" : "up, down", y.reshaped({1, 5}));
  }

  // Two tokens, C = 2, F = 3: small enough for a pencil.
  LayerWeights w;
  w.ffn_norm = {tensor({2}, {1, 1}), tensor({2}, {0, 0})};
  w.up = {tensor({3, 2}, {1, 0, 0, 2, 1, -1}), tensor({3}, {0, 1, -1})};
  w.down = {tensor({2, 3}, {2, 1, 0, -1, 0, 3}), tensor({2}, {0, 1})};
  x = tensor({2, 2}, {3, 1, 2, 6});
  print("\nx before", x);
  watch_taps([](const std::string& name, const Tensor& tapped) { print(name, tapped); });
  lesson_04::feed_forward(ops, x, w, 0);
  print("x after", x);

  // The trained decoder without its attention: what each layer adds to the row of each word.
  const DecoderCheckpoint model(weights_directory() / "decoder");
  const Vocabulary vocabulary(weights_directory() / "decoder/vocabulary.json");
  std::map<std::string, Tensor> seen;
  watch_taps([&](const std::string& name, const Tensor& tapped) { seen[name] = tapped.copy(); });
  const char* second = argc > 1 ? argv[1] : "Tom had a new drum. Tom lost the";
  for (const char* text : {"Lily had a red ball. She took the", second}) {
    std::vector<int32_t> ids = vocabulary.encode(text);
    ids.insert(ids.begin(), *vocabulary.bos());
    const Tensor tokens = Tensor::view_of(ids.data(), {int64_t(ids.size())}, DType::i32);  // (T)
    Tensor logits({tokens.count(), model.config.vocab_size});                              // (T, V)
    lesson_04::decoder_forward(ops, logits, tokens, model.weights);
    fmt::print("\n        | embed | layer 0: fire, adds, stream | layer 1: fire, adds, stream | next word\n");
    for (int64_t t = 0; t < tokens.count(); ++t) {
      fmt::print("{:>7} |{:6.1f}", vocabulary.tokens()[size_t(ids[size_t(t)])], length(t, seen["x"]));
      for (const int i : {0, 1}) {
        const Tensor &before = seen[i ? "layers.0.x" : "x"], &after = seen[fmt::format("layers.{}.x", i)];  // (T, C)
        const float* h = seen[fmt::format("layers.{}.hidden", i)][t].data();                                // (F)
        const auto fire = std::count_if(h, h + model.config.intermediate_size, [](float v) { return v > 0; });
        fmt::print(" |{:13}{:7.1f}{:8.1f}", fire, length(t, after, before), length(t, after));
      }
      const float* best = std::max_element(&logits(t, 0), &logits(t, 0) + logits.cols());
      fmt::print(" |{}\n", vocabulary.tokens()[size_t(best - &logits(t, 0))]);
    }
  }
}
