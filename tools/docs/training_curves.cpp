// training_curves CURVES.csv OUT.html RUN...: how the loss of some runs fell, as a piece of a page. The table has a row
// for each few steps, `step` first and then a column for each run: weights/train/train_hybrid.py writes it.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "show/picture.hpp"

namespace {

using rungs::FileError;

/// Before it the loss of all runs falls from 5.6 alike, and what tells them apart would be too small to see.
constexpr double first_step = 100;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

rungs::Lines read_curves(const std::string& file, const std::vector<std::string>& runs) {
  std::istringstream in(rungs::read_text(file));
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> head = cells_of(line);
  std::vector<size_t> columns;
  rungs::Lines curves{"", "step", "training loss, nats a token", {}};
  for (const std::string& run : runs) {
    const auto at = std::find(head.begin(), head.end(), run);
    if (at == head.end()) throw FileError(fmt::format("{}: no column \"{}\"; there are {}", file, run, line));
    columns.push_back(size_t(at - head.begin()));
    curves.lines.push_back({run, {}, {}});
  }
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != head.size())
      throw FileError(fmt::format("{}: {} cells in a row, wanted {}: {}", file, cells.size(), head.size(), line));
    const double step = std::stod(cells[0]);
    for (size_t i = 0; step >= first_step && i < columns.size(); ++i)
      curves.lines[i].x.push_back(step), curves.lines[i].y.push_back(std::stod(cells[columns[i]]));
  }
  return curves;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return fmt::print(stderr, "Usage: training_curves CURVES.csv OUT.html RUN...\n"), 2;
  try {
    const rungs::Lines curves = read_curves(words[1], {words + 3, words + count});
    rungs::write_whole(words[2], [&](std::ostream& out) {
      out << rungs::to_fragment(rungs::Drawing{"", "", {}, {{"", "", {curves}}}});
    });
  } catch (const std::exception& e) {
    return fmt::print(stderr, "{}\n", e.what()), 1;
  }
}
