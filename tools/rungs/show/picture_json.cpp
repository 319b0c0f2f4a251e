// Pictures as numbers.
#include <cmath>
#include <nlohmann/json.hpp>

#include "picture.hpp"
#include "rungs/base/json.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

/// JSON has neither NaN nor infinity: null.
ordered_json numbers(const std::vector<double>& values) {
  ordered_json list = ordered_json::array();
  for (const double value : values) list.push_back(std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr));
  return list;
}

ordered_json json_of(const Matrix& m) {
  ordered_json rows = ordered_json::array();
  for (size_t r = 0; r < m.rows(); ++r) {
    const auto row = m.values.begin() + int64_t(r * m.columns());
    rows.push_back(numbers({row, row + int64_t(m.columns())}));
  }
  ordered_json out = {{"kind", "matrix"},          {"title", m.title},     {"rows", m.row_names},
                      {"columns", m.column_names}, {"scale", scale_of(m)}, {"values", rows}};
  if (!m.texts.empty()) out["texts"] = m.texts;
  if (!m.marked.empty()) out["marked"] = m.marked;
  return out;
}

ordered_json json_of(const Bars& bars) {
  ordered_json out = {{"kind", "bars"}, {"title", bars.title}, {"names", bars.names}};
  for (const Series& s : bars.series) out["series"].push_back({{"name", s.name}, {"values", numbers(s.values)}});
  return out;
}

ordered_json json_of(const Lines& lines) {
  ordered_json out = {{"kind", "lines"}, {"title", lines.title}, {"x", lines.x_is}, {"y", lines.y_is}};
  for (const Line& c : lines.lines)
    out["lines"].push_back({{"name", c.name}, {"x", numbers(c.x)}, {"y", numbers(c.y)}});
  return out;
}

ordered_json json_of(const Points& points) {
  ordered_json out = {{"kind", "points"}, {"title", points.title}, {"x", points.x_is}, {"y", points.y_is}};
  for (const Point& p : points.points) out["points"].push_back({{"name", p.name}, {"x", p.x}, {"y", p.y}});
  return out;
}

ordered_json json_of(const Node& node) {
  ordered_json out = {{"text", node.text}};
  if (!node.note.empty()) out["note"] = node.note;
  for (const Node& child : node.children) out["children"].push_back(json_of(child));
  return out;
}

ordered_json json_of(const Tree& tree) {
  ordered_json out = {{"kind", "tree"}, {"title", tree.title}, {"roots", ordered_json::array()}};
  for (const Node& root : tree.roots) out["roots"].push_back(json_of(root));
  return out;
}

}  // namespace

std::string to_json(const Drawing& drawing) {
  check_sizes(drawing);
  ordered_json out = {{"title", drawing.title}, {"drawn_from", drawing.drawn_from}, {"notes", drawing.notes}};
  for (const Section& section : drawing.sections) {
    ordered_json pictures = ordered_json::array();
    for (const Picture& picture : section.pictures)
      pictures.push_back(std::visit([](const auto& p) { return json_of(p); }, picture));
    out["sections"].push_back({{"heading", section.heading}, {"text", section.text}, {"pictures", pictures}});
  }
  return pretty(out) + "\n";
}

}  // namespace rungs
