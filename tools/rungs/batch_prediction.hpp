/// What `rungs bench batch` expects of a run before it begins: memory and time, by arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "commands.hpp"
#include "rungs/analysis/roofline.hpp"
#include "rungs/generate/capacity_plan.hpp"

namespace rungs {

/// Some equally long prompts, continued all at once.
struct BatchRun {
  int64_t batch, input, output;  ///< sequences; tokens of each prompt; tokens generated after each
  bool cache;

  GenerateOptions options() const;
  LoadOptions plan() const;
};

/// The weights of a checkpoint in memory.
struct WeightsInfo {
  int64_t bytes = 0;      ///< of all tensors
  DType dtype{};          ///< of the largest
  int64_t predicted = 0;  ///< bytes, as count_parameters has it
};
/// \throws FileError
WeightsInfo weights_of(const Config& config);

/// Bytes while a run is under way.
struct PredictedMemory {
  int64_t weights = 0, cache = 0, rope_tables = 0, scratch = 0, workspace = 0;
  int64_t total() const { return weights + cache + rope_tables + scratch + workspace; }
};
PredictedMemory predict_memory(const Config& config, const BatchRun& run, const WeightsInfo& weights,
                               const DeviceChoice& device);

/// The calls of the model that generate() makes of the run, one after the other.
std::vector<Call> calls_of(const BatchRun& run);

/// The least that a roof allows: each operation of each call is bound by computing or by memory.
double predict_seconds(const Config& config, const BatchRun& run, DType weights, const DevicePeak& roof);

}  // namespace rungs
