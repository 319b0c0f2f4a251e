// Lesson 24: what rounding does to a row of weights, to a matrix, and to a model that tells stories.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "histogram.hpp"
#include "rounded_llama.hpp"
#include "rungs/measure/measure.hpp"

using namespace rungs;
using namespace lesson_24;

static double rms(double mean_square) { return std::sqrt(mean_square); }

int main() {
  const std::vector<Scheme> schemes = {{"int8, one scale", per_tensor},
                                       {"int8, rows", [](const Tensor& w) { return per_group(w, w.dim(1)); }},
                                       {"int8, groups of 32", [](const Tensor& w) { return per_group(w, 32); }},
                                       {"int4, groups of 32", four_bits}};
  const LlamaCheckpoint stories(weights_directory() / "stories");
  Tensor w = converted(stories.weights.layers[0].gate_up.gate, DType::f32);  // (F, C)
  fmt::print("Row 0 of the gate of layer 0, {} weights\n", w.dim(1));
  print_histogram(w[0]);

  Tensor outlier = w.copy(), zero(w.shape());
  outlier(7, 5) *= 100;
  std::fill_n(zero.data(), zero.count(), 0.0f);
  fmt::print("\nThe whole gate, ({}, {}), rms {:.4f}          one weight, {:.3f}, 100 times larger\n", w.dim(0),
             w.dim(1), rms(measured_error(w, zero)), w(7, 5));
  fmt::print("{:<22}{:>6}{:>12}{:>10}{:>14}{:>10}\n", "rms error", "bits", "predicted", "measured", "predicted",
             "measured");
  for (const Scheme& scheme : schemes) {
    const Rounded plain = scheme.round(w), spoilt = scheme.round(outlier);
    fmt::print("{:<22}{:>6.1f}{:>12.5f}{:>10.5f}{:>14.5f}{:>10.5f}\n", scheme.name, plain.bits,
               rms(predicted_error(plain.scale)), rms(measured_error(w, plain.values)),
               rms(predicted_error(spoilt.scale)), rms(measured_error(outlier, spoilt.values)));
  }

  std::vector<Scheme> models = schemes;
  models.push_back({"int8 times int8", nullptr, /*integers=*/true});
  models.push_back({"bf16, cache in int8", nullptr, false, /*int8_cache=*/true});
  const Measured exact = measure_stories({"bf16"});
  fmt::print("\n{:<22}{:>6}{:>14}{:>12}{:>14}{:>14}\n", "The story LLaMA", "MB", "logits, rms", "perplexity",
             "best token", "same text");
  fmt::print("{:<22}{:>6.2f}{:>26.3f}\n", "bf16, as in its file", 2e-6 * double(exact.elements), exact.perplexity);
  for (const Scheme& scheme : models) {
    const Measured m = measure_stories(scheme);
    const double bits = scheme.round ? scheme.round(w).bits : scheme.integers ? 9 : 16;
    const double best = double(same_best(m, exact)) / double(m.logits.dim(0));
    // Where x is rounded too, a last bit of it, which compilers do not agree on, decides what the text becomes.
    const double error = rms(measured_error(m.logits, exact.logits));
    const std::string shown = scheme.integers ? fmt::format("{:.1g}", error) : fmt::format("{:.3f}", error);
    const std::string same = fmt::format("{} of {}", same_text(m, exact), same_text(exact, exact));
    fmt::print("{:<22}{:>6.2f}{:>14}{:>12.3f}{:>13.0f}%{}\n", scheme.name, double(m.elements) * bits / 8e6, shown,
               m.perplexity, std::floor(100 * best), scheme.integers ? "" : fmt::format("{:>14}", same));
  }

  fmt::print("\nOne token in the up matrix of Llama 3 8B, by the library's linear on one thread\n");
  use_threads(1);
  CpuOps ops;
  Tensor x({1, 4096}), y({1, 14336}), some({256, 4096});  // y = x · upᵀ; up repeats some rows
  for (int64_t k = 0; k < 256; ++k) std::copy_n(w.data() + k, 4096, some.data() + k * 4096);
  std::copy_n(w.data(), 4096, x.data());
  for (const DType dtype : {DType::f32, DType::bf16, DType::q8_0, DType::q4_0}) {
    const Tensor rows = converted(some, dtype);
    Tensor up = Tensor::uninitialised({14336, 4096}, dtype);
    for (int64_t k = 0; k < 14336; k += 256) std::memcpy(up.view_rows(k, 256).raw(), rows.raw(), rows.bytes());
    const double seconds = measure([&] { ops.linear(y, x, up, {}); }, 0.2).seconds;
    fmt::print("time in {}, {:.0f} MB: {:.2f} ms, {:.1f} GB/s\n", name_of(dtype), double(up.bytes()) / 1e6,
               1e3 * seconds, double(up.bytes()) / seconds / 1e9);
  }
}
