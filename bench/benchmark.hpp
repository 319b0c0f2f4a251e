/// What the programs of bench/ share: a command line, and one JSON file for each.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "rungs/base/file.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs {

/// A program that measures.
class Benchmark {
 public:
  Benchmark(const std::string& name, const std::string& measures)
      : app_(measures, name), name_(name), out_(RUNGS_SOURCE_DIR "/bench/results/" + name + ".json") {
    app_.add_option("--out", out_, "the report")->type_name("FILE.json")->capture_default_str();
  }
  /// For arguments of its own.
  CLI::App& app() { return app_; }

  /// Makes the report's folder. After --help, or an argument that is none, the program ends here.
  void read(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      std::exit(app_.exit(e));
    }
    if (out_.has_parent_path()) std::filesystem::create_directories(out_.parent_path());
  }
  const std::filesystem::path& out() const { return out_; }

  /// Writes the report and says where it is.
  void write(const nlohmann::ordered_json& figures) const {
    const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    const std::chrono::year_month_day date{today};
    nlohmann::ordered_json report = {
        {"benchmark", name_},
        {"command", "build/release/bin/" + name_},
        {"date", fmt::format("{:04}-{:02}-{:02}", int(date.year()), unsigned(date.month()), unsigned(date.day()))},
        {"machine", machine()}};
    report.update(figures);
    write_whole(out_, [&](std::ostream& out) { out << report.dump(2) << '\n'; });
    fmt::print("\nWritten to {}\n", out_.string());
  }

 private:
  CLI::App app_;
  std::string name_;
  std::filesystem::path out_;
};

}  // namespace rungs
