#include "rungs/model/rope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

namespace rungs {

/// A pair that turns often within the original context keeps its frequency, one that hardly turns gets the scaled one,
/// and between the two the frequency moves from one to the other.
static double llama3_frequency(double frequency, const RopeConfig& c) {
  const double turns = double(c.original_context) * frequency / (2 * std::numbers::pi);
  if (turns < c.low_frequency) return frequency / c.factor;
  if (turns > c.high_frequency) return frequency;
  const double kept = (turns - c.low_frequency) / (c.high_frequency - c.low_frequency);
  return (1 - kept) * frequency / c.factor + kept * frequency;
}

std::vector<double> rope_frequencies(const RopeConfig& config, int64_t head_dim) {
  if (head_dim % 2 != 0) throw UsageError(fmt::format("rotary positions: the head dim {} is odd", head_dim));
  std::vector<double> frequencies;
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    double frequency = std::pow(config.theta, -2.0 * double(i) / double(head_dim));
    if (!config.divisors.empty()) frequency /= config.divisors.at(size_t(i));
    if (config.scaling == RopeConfig::Scaling::linear) frequency /= config.factor;
    if (config.scaling == RopeConfig::Scaling::llama3) frequency = llama3_frequency(frequency, config);
    frequencies.push_back(frequency);
  }
  return frequencies;
}

RopeTables rope_table(const RopeConfig& config, int64_t head_dim, int64_t context) {
  if (config.scaling == RopeConfig::Scaling::dynamic && context > config.original_context)
    throw UsageError(
        fmt::format("dynamic rope scaling works up to the original context of {}, not up to {}: beyond it "
                    "the keys in the cache would have to turn again",
                    config.original_context, context));
  const std::vector<double> frequencies = rope_frequencies(config, head_dim);
  const auto half = int64_t(frequencies.size());
  Tensor cos = Tensor::uninitialised({context, half}), sin = Tensor::uninitialised({context, half});
  // Position p turns as p % step and the rest of it do, one after the other: a context of 131,072 would want 4 million
  // sines, these two tables have a hundredth of that.
  constexpr int64_t step = 256;
  const auto turn = [&](int64_t p, int64_t i) { return std::polar(1.0, double(p) * frequencies[size_t(i)]); };
  std::vector<std::complex<double>> near, far(frequencies.size());
  for (int64_t p = 0; p < std::min(step, context); ++p)
    for (int64_t i = 0; i < half; ++i) near.push_back(turn(p, i));
  for (int64_t p = 0; p < context; ++p)
    for (int64_t i = 0; i < half; ++i) {
      if (p % step == 0) far[size_t(i)] = turn(p, i);
      const std::complex<double> both = far[size_t(i)] * near[size_t(p % step * half + i)];
      cos.data()[p * half + i] = float(both.real());
      sin.data()[p * half + i] = float(both.imag());
    }
  return {std::move(cos), std::move(sin)};
}

}  // namespace rungs
