// Lesson 4: the residual stream, and the feed-forward that adds to it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "02_embedding/lesson.hpp"
#include "lesson.hpp"
#include "model/decoder.hpp"
#include "ops/cpu_ops.hpp"
#include "tensor/file.hpp"
#include "tensor/print.hpp"
#include "tensor/tap.hpp"
#include "text/vocabulary.hpp"

using namespace rungs;

template <class T>
Tensor tensor(const Shape& shape, const std::vector<T>& values) {
  Tensor t(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

int main() {
  CpuOps ops;

  // Two matrices in a row are one, here the zero. With ReLU between them they give the absolute value.
  const Tensor up = tensor<float>({2, 1}, {1, -1}), down = tensor<float>({1, 2}, {1, 1});
  Tensor x = tensor<float>({5, 1}, {-2, -1, 0, 1, 2}), hidden({5, 2}), y({5, 1});
  ops.linear(hidden, x, up, {});
  ops.linear(y, hidden, down, {});
  print("x", x.reshaped({1, 5}));
  print("up, down", y.reshaped({1, 5}));
  lesson_04::relu(hidden);
  ops.linear(y, hidden, down, {});
  print("up, ReLU, down", y.reshaped({1, 5}));

  // Two tokens, C = 2, F = 3: small enough for a pencil.
  LayerWeights w;
  w.ffn_norm = {tensor<float>({2}, {1, 1}), tensor<float>({2}, {0, 0})};
  w.up = {tensor<float>({3, 2}, {1, 0, 0, 2, 1, -1}), tensor<float>({3}, {0, 1, -1})};
  w.down = {tensor<float>({2, 3}, {2, 1, 0, -1, 0, 3}), tensor<float>({2}, {0, 1})};
  x = tensor<float>({2, 2}, {3, 1, 2, 6});
  print("\nx before", x);
  watch_taps([](const std::string& name, const Tensor& seen) { print(name, seen); });
  lesson_04::feed_forward(ops, x, w, 0);
  print("x after", x);

  // The trained decoder without its attention: how long each row of the stream is, and what each layer adds to it.
  const auto directory = weights_directory() / "decoder";
  const DecoderCheckpoint model(directory);
  const Vocabulary vocabulary(directory / "vocabulary.json");
  watch_taps([&](const std::string& name, const Tensor& seen) {
    if (name == "hidden") hidden = seen.copy();  // (T, F)
  });
  fmt::print("\n                    layer 0                   layer 1\n");
  fmt::print("             |x|   fires  |added|    |x|   fires  |added|    |x|   best guess\n");
  for (const char* text : {"Lily had a red ball. She took the", "Tom had a new drum. Tom lost the"}) {
    std::vector<int32_t> ids = vocabulary.encode(text);
    ids.insert(ids.begin(), vocabulary.bos());
    const int64_t T = int64_t(ids.size());
    const Tensor tokens = tensor({T}, ids);

    x = Tensor({T, model.config.width});
    lesson_02::embed(x, tokens, model.weights.token_embedding, model.weights.position_embedding);
    std::vector<std::string> lines;
    for (int64_t t = 0; t < T; ++t) lines.push_back(fmt::format("  {:8}{:6.1f}", vocabulary.tokens()[ids[t]], length(x[t])));
    for (const LayerWeights& layer : model.weights.layers) {
      Tensor added = x.copy();
      lesson_04::feed_forward(ops, x, layer, model.config.epsilon);
      for (int64_t t = 0; t < T; ++t) {
        ...
      }
    }
  }
}
