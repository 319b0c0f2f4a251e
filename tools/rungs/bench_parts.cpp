#include "bench_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs {

using nlohmann::ordered_json;

std::vector<int32_t> any_prompt(int64_t length, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back(int32_t(i * 7 % vocabulary));
  return tokens;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, size_t(share * double(values.size())))];
}

KvCache filled_cache(Device& device, const Config& config, int64_t sequences, int64_t capacity, DType dtype) {
  KvCache cache(device, config, sequences, capacity, dtype);
  Tensor numbers(cache_shape(config, sequences, capacity));
  for (int64_t i = 0; i < numbers.count(); ++i) numbers.flat(i) = float(i % 7 - 3) / 4;
  Tensor stored(numbers.shape(), dtype);
  convert(stored, numbers);
  for (LayerCache& layer : cache.layers) device.upload(layer.k, stored.raw()), device.upload(layer.v, stored.raw());
  return cache;
}

Panel without_and_with(const std::string& title, const std::string& x_label, const std::string& y_label,
                       const std::vector<double>& x, const std::vector<double>& without,
                       const std::vector<double>& with) {
  const auto curve = [&](const char* name, const char* colour, const std::vector<double>& y) {
    Curve out{name, colour, {}, {}};
    for (size_t i = 0; i < x.size(); ++i)
      if (!std::isnan(y[i])) out.x.push_back(x[i]), out.y.push_back(y[i]);
    return out;
  };
  return {
      title, x_label, y_label, {curve("without the cache", "#d1495b", without), curve("KV cache", "#00798c", with)}};
}

std::string shown_path(const std::filesystem::path& path) {
  const std::string text = path.string(), root = RUNGS_SOURCE_DIR "/";
  return text.starts_with(root) ? text.substr(root.size()) : text;
}

ordered_json begin_report(const std::string& command, const std::string& model, const DeviceChoice& device) {
  ordered_json report = {{"command", command}, {"machine", machine()}, {"model", shown_path(model)}};
  if (device.backend != "cpu") report["backend"] = device.backend + " on " + device.on;
  return report;
}

std::string in_four_digits(double speed) {
  return speed < 1000 ? fmt::format("{:.4g}", speed) : fmt::format("{:.0f}", speed);
}

void write_report(const std::filesystem::path& out, const ordered_json& report, const std::string& title,
                  const std::vector<Panel>& panels) {
  if (out.has_parent_path()) std::filesystem::create_directories(out.parent_path());
  write_whole(out, [&](std::ostream& file) { file << pretty(report) << '\n'; });
  if (!panels.empty()) draw_pictures(std::filesystem::path(out).replace_extension(), title, panels);
}

void show_report(const std::filesystem::path& out, const std::vector<Panel>& panels) {
  const bool draws = has_gnuplot();
  if (draws) draw_in_terminal(panels);
  const std::string stem = std::filesystem::path(out).replace_extension().string();
  fmt::print("Written to {}{}\n", out.string(), draws ? fmt::format(", {0}.png and {0}.svg", stem) : "");
  if (!draws) fmt::print("{}\n", gnuplot_missing);
}

}  // namespace rungs
