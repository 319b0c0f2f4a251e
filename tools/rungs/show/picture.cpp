#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rungs/base/error.hpp"

namespace rungs {

double scale_of(const Matrix& matrix) {
  double most = matrix.most;
  if (most == 0)
    for (const double value : matrix.values)
      if (std::isfinite(value)) most = std::max(most, std::fabs(value));
  return most > 0 ? most : 1;
}

int level_of(double value, double most, int levels) {
  if (value == 0) return 0;
  const double fraction = std::min(1.0, std::fabs(value) / most);  // of infinity: all
  const int level = std::clamp(int(std::ceil(fraction * levels)), 1, levels);
  return value < 0 ? -level : level;
}

namespace {

void check(const std::string& title, const char* what, size_t found, size_t wanted) {
  if (found != wanted)
    throw Error(fmt::format("the picture \"{}\": wanted {} {}, found {}", title, wanted, what, found));
}

void check_picture(const Matrix& m) {
  const size_t cells = m.rows() * m.columns();
  check(m.title, "values", m.values.size(), cells);
  if (!m.texts.empty()) check(m.title, "texts", m.texts.size(), cells);
  if (!m.marked.empty()) check(m.title, "marks", m.marked.size(), cells);
}

void check_picture(const Bars& bars) {
  for (const Series& s : bars.series) check(bars.title, "values", s.values.size(), bars.names.size());
}

void check_picture(const Lines& lines) {
  for (const Line& line : lines.lines) check(lines.title, "heights", line.y.size(), line.x.size());
}

void check_picture(const Points&) {}
void check_picture(const Tree&) {}

}  // namespace

void check_sizes(const Drawing& drawing) {
  for (const Section& section : drawing.sections)
    for (const Picture& picture : section.pictures) std::visit([](const auto& p) { check_picture(p); }, picture);
}

}  // namespace rungs
