// Lesson 12: RMSNorm beside LayerNorm, on rows of any scale and in a model.
#include <fmt/format.h>

#include <map>

#include "03_layer_norm/lesson.hpp"
#include "11_rope/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/print.hpp"
#include "rungs/tensor/tap.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;

/// How much of a row's mean square its mean alone makes, in percent, on average over the rows.  x: (T, C)
static double share_of_the_mean(const Tensor& x) {
  double share = 0;
  for (int64_t t = 0; t < x.rows(); ++t) {
    double mean = 0, square = 0;
    for (int64_t c = 0; c < x.cols(); ++c) {
      mean += x(t, c) / double(x.cols()), square += x(t, c) * x(t, c) / double(x.cols());
    }
    share += 100 * mean * mean / square / double(x.rows());
  }
  return share;
}

int main(int argc, char** argv) {
  const std::vector<std::string> names = {"one to four", "ten times that", "plus a hundred", "both signs", "all equal"};
  Tensor x({5, 4}), out({5, 4}), weight({4}), bias({4});  // x, out: (T, C); weight, bias: (C)
  for (int64_t c = 0; c < 4; ++c) {
    const float n = float(c + 1);
    x(0, c) = n, x(1, c) = 10 * n, x(2, c) = 100 + n, x(3, c) = c % 2 ? n : -n, x(4, c) = 5;
    weight(c) = 1, bias(c) = 0;
  }
  print("x", x, names);
  lesson_03::layer_norm(out, x, weight, bias, 1e-5f);
  print("LayerNorm of x", out, names);
  lesson_12::rms_norm(out, x, weight, 1e-5f);
  print("RMSNorm of x", out, names);

  // What LayerNorm would subtract: the mean, in the streams of two trained models.
  CpuOps ops;
  std::map<std::string, double> share;
  watch_taps([&](const std::string& tap, const Tensor& stream) {
    if (tap.ends_with("x")) share[tap] = share_of_the_mean(stream);
  });
  const char* text = argc > 1 ? argv[1] : "Once upon a time, there was a girl named Lily. She had a red ball.";
  fmt::print("\nshare of the mean in the mean square of the stream, in percent\n{:<16}{:>12}{:>16}{:>16}\n", "",
             "embedding", "after layer 0", "after layer 1");
  for (const char* name : {"11_rope", "12_rms_norm"}) {
    const auto directory = weights_directory() / "hybrid" / name;
    const DecoderCheckpoint model(directory);
    const Vocabulary words(directory / "vocabulary.json");
    std::vector<int32_t> ids = words.encode(text);
    ids.insert(ids.begin(), *words.bos());
    const int64_t T = int64_t(ids.size());
    const Shape rows{T, model.config.num_kv_heads, model.config.head_dim};  // (capacity, G, D)
    KvCache cache;
    for (int64_t i = 0; i < model.config.num_layers; ++i) cache.layers.push_back({Tensor(rows), Tensor(rows)});
    Tensor logits({T, words.size()});  // (T, V)
    const auto forward = name[1] == '1' ? lesson_11::decoder_forward : lesson_12::decoder_forward;
    forward(ops, logits, Tensor::view_of(ids.data(), {T}, DType::i32), model.weights, cache, 0);
    fmt::print("{:<16}{:>12.1f}{:>16.1f}{:>16.1f}\n", name, share["x"], share["layers.0.x"], share["layers.1.x"]);
  }

  // Less to do: two passes over a row in place of three, and no bias.
  watch_taps({});
  Tensor many({512, 768}), normed({512, 768}), ones({768}), zeros({768});  // (T, C), (C)
  for (int64_t i = 0; i < many.count(); ++i) many.flat(i) = float(i % 7);
  for (int64_t c = 0; c < 768; ++c) ones(c) = 1, zeros(c) = 0;
  const Timing layer = measure([&] { lesson_03::layer_norm(normed, many, ones, zeros, 1e-5f); }, 0.2);
  const Timing rms = measure([&] { lesson_12::rms_norm(normed, many, ones, 1e-5f); }, 0.2);
  fmt::print("\ntime of LayerNorm of 512 rows of 768: {:.2f} ms\n", 1e3 * layer.seconds);
  fmt::print("time of RMSNorm of the same rows: {:.2f} ms\n", 1e3 * rms.seconds);

  // Fused with the addition before it: a row that was read once serves both.
  const int64_t whole = many.count(), add = 3 * whole, norm = 2 * whole + ones.count(),
                fused = 4 * whole + ones.count();
  fmt::print("\nMB read and written for 512 rows of 768: add {:.2f}, RMSNorm {:.2f}, both {:.2f}; fused {:.2f}\n",
             4e-6 * double(add), 4e-6 * double(norm), 4e-6 * double(add + norm), 4e-6 * double(fused));
}
