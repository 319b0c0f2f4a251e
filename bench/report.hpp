/// One JSON file for each benchmark.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "rungs/base/file.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs {

/// Writes bench/results/NAME.json and says so.
inline void write_report(const std::string& name, const nlohmann::ordered_json& figures) {
  const std::filesystem::path folder = RUNGS_SOURCE_DIR "/bench/results";
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day date{today};
  nlohmann::ordered_json report = {
      {"benchmark", name},
      {"command", "build/release/bin/" + name},
      {"date", fmt::format("{:04}-{:02}-{:02}", int(date.year()), unsigned(date.month()), unsigned(date.day()))},
      {"machine", machine()}};
  report.update(figures);
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = folder / (name + ".json");
  write_whole(path, [&](std::ostream& out) { out << report.dump(2) << '\n'; });
  fmt::print("\nWritten to {}\n", path.string());
}

}  // namespace rungs
