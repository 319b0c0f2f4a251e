// rungs convert: a LLaMA from one kind of file to another, and what quantization or f16 rounded in it.
#include "rungs/model/convert.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/units.hpp"

namespace rungs {

using nlohmann::ordered_json;

static std::optional<DType> dtype_named(const std::string& name) {
  if (name.empty()) return {};
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::q8_0, DType::q4_0})
    if (name == name_of(dtype)) return dtype;
  throw UsageError(fmt::format("dtype: wanted f32, bf16, f16, q8_0 or q4_0, found \"{}\"", name));
}

/// The root of the mean squared error, as a part of that of the values.
static double relative_error(const QuantizedTensor& t) {
  return t.sum_of_squares > 0 ? std::sqrt(t.squared_error / t.sum_of_squares) : 0;
}

/// Also of an error that three places after the point would not show.
static std::string in_percent(double part) {
  const double p = 100 * part;
  return p == 0 || p >= 0.0005 ? fmt::format("{:.3f}%", p) : fmt::format("{:.1e}%", p);
}

static ordered_json json_of(const Converted& done, int64_t bytes) {
  ordered_json tensors = ordered_json::array();
  for (const QuantizedTensor& t : done.quantized)
    tensors.push_back({{"name", t.name},
                       {"dtype", name_of(t.dtype)},
                       {"elements", t.count},
                       {"relative_error", relative_error(t)},
                       {"largest_error", t.largest_error},
                       {"largest", t.largest}});
  ordered_json out = {{"bytes", bytes}, {"quantized", tensors}, {"kept", done.kept}};
  if (!done.no_tokenizer.empty()) out["no_tokenizer"] = done.no_tokenizer;
  return out;
}

static void print(const Converted& done, int64_t bytes, const ConvertCommand& command) {
  if (!done.quantized.empty()) {
    fmt::print("{:<28}{:<6}{:>13}  {:>9}  {:>13}  {:>9}\n", "tensor", "dtype", "elements", "RMS error", "largest error",
               "largest");
    QuantizedTensor all;
    for (const QuantizedTensor& t : done.quantized) {
      fmt::print("{:<28}{:<6}{:>13}  {:>9}  {:>13.3g}  {:>9.3g}\n", t.name, name_of(t.dtype), with_commas(t.count),
                 in_percent(relative_error(t)), t.largest_error, t.largest);
      all.sum_of_squares += t.sum_of_squares, all.squared_error += t.squared_error;
    }
    fmt::print("{} in {}; the errors are {} of the weights, as roots of mean squares.\n", in_units(bytes), command.to,
               in_percent(relative_error(all)));
  }
  if (!done.kept.empty())
    fmt::print("{} of the matrices stayed as they were, as no block of 32 divides their rows: {}{}\n", done.kept.size(),
               done.kept.front(), done.kept.size() > 1 ? ", ..." : "");
  if (!done.no_tokenizer.empty())
    fmt::print(stderr, "rungs: {} has no tokenizer: {}; give commands that need one --tokenizer\n", command.to,
               done.no_tokenizer);
}

int convert_checkpoint(const ConvertCommand& command) {
  if (command.bin_version && !command.to.ends_with(".bin"))
    throw UsageError(
        fmt::format("bin-version: wanted a place that ends in .bin, to which alone it applies, found {}", command.to));
  std::unique_ptr<Progress> progress;
  int64_t all = 0;
  const Converted done = convert_llama(
      command.from, command.to, {dtype_named(command.dtype), command.bin_version.value_or(1)},
      [&](int64_t bytes) { progress = std::make_unique<Progress>("Writing " + command.to, all = bytes); },
      [&](int64_t bytes) { progress->advance(bytes); });
  progress.reset();
  if (command.json)
    fmt::print("{}\n", pretty(json_of(done, all)));
  else
    print(done, all, command);
  return 0;
}

}  // namespace rungs
