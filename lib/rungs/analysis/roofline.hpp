/// The roofline: what a device could reach at best, and where the operations of a model stand under it.
/// Williams, Waterman, Patterson 2009, "Roofline: An Insightful Visual Performance Model for Multicore Architectures".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rungs/analysis/intensity.hpp"

namespace rungs {

/// A device as two numbers.
struct DevicePeak {
  std::string name;
  double flops = 0;                                   ///< floating-point operations a second
  double bandwidth = 0;                               ///< bytes of memory a second
  std::string source;                                 ///< where the numbers come from
  double ridge() const { return flops / bandwidth; }  ///< FLOP/byte from which on it computes at its best
  /// FLOP/s at an intensity: the lower of both limits.
  double attainable(double intensity) const;
  /// Seconds that it takes at least.
  double seconds(const Cost& cost) const;
};

/// "A100", "H100", "H200", "RTX 4090": dense products of bf16 with sums in f32. Nothing for another name.
std::optional<DevicePeak> named_device_peak(std::string_view name);
/// All names, as they are usually written.
std::vector<std::string> roof_names();

/// Bytes of one element.
struct ElementBytes {
  double weight = 2, cache = 2, activation = 2;
};

/// One kind of operation of a model, all layers together.
struct Operation {
  std::string name;
  Cost cost;
};

/// One call of a model: `batch` sequences, each feeding `rows` tokens behind `past` others, and wanting the logits of
/// its last.
struct Call {
  int64_t batch = 1, rows = 1, past = 0;
};

/// The products and attention of a LLaMA: "q, k, v", "attention", "output projection", "gate and up", "down", "logits".
/// A product reads its weights and its input once and writes its output. Attention is fused: only the scores that the
/// mask leaves are computed, they never go to memory, and each key and value is written once and read once a call.
/// Norms, rotation and sums, which move as much as an input or two, are left out.
std::vector<Operation> operations(const Config& config, const Call& call, const ElementBytes& bytes);

/// Of all operations. \param operations from operations()
Cost total(const std::vector<Operation>& operations);

}  // namespace rungs
