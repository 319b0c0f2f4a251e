/// What the commands of `rungs calc` share: the model that they compute for, and tables.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "rungs/analysis/memory.hpp"
#include "rungs/measure/plot.hpp"
#include "rungs/model/config.hpp"

namespace rungs {

/// The model of a command line.
struct CalcShape {
  Config config;
  std::string name;
  double weight_bytes = 2, cache_bytes = 2;  ///< of an element
  std::string cache_note = {};               ///< where cache_bytes comes from, if nobody gave it
};

/// The named shape, or that of a checkpoint, with what the command line puts in place of its numbers. \throws
/// UsageError for a name that is not known, sizes below 1, heads that do not divide; FileError as load_config
CalcShape shape_of(const CalcModel& model);

/// "32 layers, 32 query heads and 8 key/value heads of 128, ..."
std::string description(const Config& config);

/// Lists of numbers with units, one value each. \throws UsageError
std::vector<int64_t> parse_list(const std::string& field, const std::vector<std::string>& texts,
                                int64_t (*parse)(const std::string& field, const std::string& text));

/// Bytes of `count` elements. \throws UsageError beyond 63 bits
int64_t bytes_of(int64_t count, double element_bytes);

/// A table for people. The first column stands left, the others right.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  void print(const std::string& title) const;  ///< no line for an empty title
};

/// What --plot asks for: NAME.png and NAME.svg, and the same in the terminal where text was printed. Without gnuplot a
/// sentence says so. \throws FileError
void draw(const CalcOutput& output, const std::string& title, const std::vector<Panel>& panels);

/// Objects with the same keys, as CSV: the keys, then a line for each.
void print_csv(const nlohmann::ordered_json& rows);

}  // namespace rungs
