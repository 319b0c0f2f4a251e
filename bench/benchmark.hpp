/// What the programs of bench/ share: a command line, and one JSON file for each.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rungs/measure/measure.hpp"

namespace CLI {
class App;
}

namespace rungs {

/// A program that measures.
class Benchmark {
 public:
  Benchmark(const std::string& name, const std::string& measures);
  ~Benchmark();

  /// An argument that may be left out, and several of them.
  void takes(const std::string& name, std::filesystem::path& value, const std::string& what);
  void takes(const std::string& name, std::vector<std::filesystem::path>& values, const std::string& what);

  /// Makes the report's folder. After --help, or an argument that is none, the program ends here.
  void read(int argc, char** argv);
  const std::filesystem::path& out() const { return out_; }

  /// Writes the report and says where it is.
  void write(const nlohmann::ordered_json& figures) const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::string name_;
  std::filesystem::path out_;
};

}  // namespace rungs
