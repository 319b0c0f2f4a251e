#include "benchmark.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>

#include "rungs/base/file.hpp"

namespace rungs {

Benchmark::Benchmark(const std::string& name, const std::string& measures)
    : app_(std::make_unique<CLI::App>(measures, name)),
      name_(name),
      out_(RUNGS_SOURCE_DIR "/bench/results/" + name + ".json") {
  app_->add_option("--out", out_, "the report")->type_name("FILE.json")->capture_default_str();
}

Benchmark::~Benchmark() = default;

void Benchmark::takes(const std::string& name, std::filesystem::path& value, const std::string& what) {
  app_->add_option(name, value, what);
}

void Benchmark::takes(const std::string& name, std::vector<std::filesystem::path>& values, const std::string& what) {
  app_->add_option(name, values, what);
}

void Benchmark::read(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::exit(app_->exit(e));
  }
  if (out_.has_parent_path()) std::filesystem::create_directories(out_.parent_path());
}

void Benchmark::write(const nlohmann::ordered_json& figures) const {
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

}  // namespace rungs
