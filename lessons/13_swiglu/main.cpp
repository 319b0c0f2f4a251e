// Lesson 13: SiLU, a gate, and what they do in a trained model.
#include <fmt/format.h>

#include <algorithm>

#include "04_feed_forward/lesson.hpp"
#include "12_rms_norm/lesson.hpp"
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

int main(int argc, char** argv) {
  // The function, beside the one that it replaces.
  const Tensor x = tensor({1, 9}, {-6, -4, -2, -1, 0, 1, 2, 4, 6});
  Tensor relu = x.copy(), silu = x.copy();
  lesson_04::relu(relu);
  lesson_13::silu(silu);
  print("x", x), print("ReLU", relu), print("SiLU", silu);

  // One token, C = 2, F = 3: small enough for a pencil. The row has mean square 1 already.
  LayerWeights w;
  w.ffn_norm.weight = tensor({2}, {1, 1});
  w.gate.weight = tensor({3, 2}, {3, 0, -3, 0, 0, 1});
  w.up.weight = tensor({3, 2}, {2, 1, 1, -1, 1, 0});
  w.down.weight = tensor({2, 3}, {1, 0, 1, 0, 1, 0});
  Tensor stream = tensor({1, 2}, {1, -1});
  print("\nx before", stream);
  watch_taps([](const std::string& name, const Tensor& tapped) {
    if (name != "mean_square") print(name, tapped);
  });
  CpuOps ops;
  lesson_13::feed_forward(ops, stream, w, 0);
  print("x after", stream);

  // Two trained models, the one with ReLU and the one with a gate: the hidden numbers of layer 0, word by word.
  for (const std::string name : {"12_rms_norm", "13_swiglu"}) {
    const auto directory = weights_directory() / "hybrid" / name;
    const DecoderCheckpoint model(directory);
    const Vocabulary words(directory / "vocabulary.json");
    std::vector<int32_t> ids = words.encode(argc > 1 ? argv[1] : "Lily had a red ball. She took the");
    ids.insert(ids.begin(), *words.bos());
    const int64_t T = int64_t(ids.size()), F = model.config.intermediate_size;
    const Shape rows{T, model.config.num_kv_heads, model.config.head_dim};  // (capacity, G, D)
    KvCache cache;
    for (int64_t i = 0; i < model.config.num_layers; ++i) cache.layers.push_back({Tensor(rows), Tensor(rows)});
    Tensor hidden, logits({T, words.size()});  // (T, F), (T, V)
    watch_taps([&](const std::string& tap, const Tensor& tapped) {
      if (tap == "layers.0.hidden") hidden = tapped.copy();
    });
    const auto forward = name == "13_swiglu" ? lesson_13::decoder_forward : lesson_12::decoder_forward;
    forward(ops, logits, Tensor::view_of(ids.data(), {T}, DType::i32), model.weights, cache, 0);

    fmt::print("\n{}: of {} hidden numbers\n         zero  positive  negative   next word\n", name, F);
    for (int64_t t = 0; t < T; ++t) {
      const float *h = &hidden(t, 0), *best = std::max_element(&logits(t, 0), &logits(t, 0) + words.size());
      fmt::print("{:>7}{:6}{:10}{:10}   {}\n", words.tokens()[size_t(ids[size_t(t)])], std::count(h, h + F, 0.0f),
                 std::count_if(h, h + F, [](float v) { return v > 0; }),
                 std::count_if(h, h + F, [](float v) { return v < 0; }), words.tokens()[size_t(best - &logits(t, 0))]);
    }
  }
}
