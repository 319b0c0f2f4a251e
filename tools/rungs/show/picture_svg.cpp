#include "picture_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "picture_lines.hpp"
#include "rungs/base/text.hpp"
#include "rungs/base/units.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(valid_utf8(text))) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

namespace {

constexpr double letter = 6.9;  // width of a character of 11 pixels, nearly

std::string figure(const std::string& title, double width, double height, const std::string& attributes,
                   const std::string& content) {
  return fmt::format(
      "<figure><figcaption>{0}</figcaption>\n<svg width=\"{1:.0f}\" height=\"{2:.0f}\" "
      "viewBox=\"0 0 {1:.0f} {2:.0f}\" {3}>\n{4}</svg></figure>\n",
      escaped(title), width, height, attributes, content);
}

std::string text_at(double x, double y, const std::string& text, const char* attributes = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, escaped(text));
}

double width_of(const std::vector<std::string>& names, int most) {
  int columns = 0;
  for (const std::string& name : names) columns = std::max(columns, columns_of(name));
  return letter * std::min(columns, most);
}

std::string hue(int kind) { return fmt::format("hsl({}, 65%, 55%)", (kind * 47) % 360); }

/// Of the series of bars and lines; each can be seen on white and on black.
const char* colour_of(size_t series) {
  constexpr const char* colours[] = {"#4593cf", "#e0843c", "#5aa469", "#b06fc4", "#cf5f5f", "#8a8f98"};
  return colours[series % std::size(colours)];
}

/// Where the cells of a matrix are.
struct Cells {
  double left, top, width, height;
};

Cells place(const Matrix& m) {
  const double letters = m.texts.empty() ? 0 : std::max(width_of(m.texts, 14), width_of(m.column_names, 14)) + 8;
  const double cell = m.columns() <= 6 ? 24 : m.columns() <= 24 ? 14 : m.columns() <= 64 ? 9 : 5;
  return {width_of(m.row_names, 16) + 6,
          m.columns() > 64 ? 6.0
          : letters > 0    ? 16.0
                           : width_of(m.column_names, 16) * 0.72 + 12,
          std::max(cell, letters),
          letters > 0 ? 18.0
          : cell > 9  ? cell
                      : 11.0};
}

/// The cells of one shade are one path; a page of many heads stays small.
std::string shaded_cells(const Matrix& m, const Cells& at) {
  const double most = scale_of(m);
  std::map<int, std::string> paths;  // by level; of kinds, by kind
  std::string zeros, none, marks;
  for (size_t i = 0; i < m.values.size(); ++i) {
    const size_t row = i / m.columns(), column = i % m.columns();
    const double x = at.left + double(column) * at.width, y = at.top + double(row) * at.height;
    const std::string cell =
        fmt::format("M{:g} {:g}h{:g}v{:g}h-{:g}z", x, y, at.width - 1, at.height - 1, at.width - 1);
    const double value = m.values[i];
    if (std::isnan(value))
      none += m.texts.empty() ? cell : "";
    else if (m.shades == Shades::kind)
      paths[int(value)] += cell;
    else if (value == 0)
      zeros += m.texts.empty() ? fmt::format("M{:g} {:g}h0", x + at.width / 2, y + at.height / 2) : "";
    else
      paths[level_of(value, most, svg_levels)] += cell;
    if (!m.marked.empty() && m.marked[i]) marks += cell;
  }
  const double darkest = m.texts.empty() ? 1 : 0.55;  // behind a text, which must be read
  std::string svg;
  for (const auto& [level, path] : paths) {
    if (m.shades == Shades::kind)
      svg += fmt::format("<path fill=\"{}\" fill-opacity=\".55\" d=\"{}\"/>\n", hue(level), path);
    else
      svg += fmt::format("<path class=\"{}\" fill-opacity=\"{:.2f}\" d=\"{}\"/>\n", level < 0 ? "less" : "more",
                         darkest * std::abs(level) / svg_levels, path);
  }
  if (!zeros.empty()) svg += fmt::format("<path class=\"zero\" d=\"{}\"/>\n", zeros);
  if (!none.empty()) svg += fmt::format("<path class=\"none\" d=\"{}\"/>\n", none);
  if (!marks.empty()) svg += fmt::format("<path class=\"mark\" d=\"{}\"/>\n", marks);
  return svg;
}

std::string names_of_cells(const Matrix& m, const Cells& at) {
  std::string svg;
  for (size_t r = 0; r < m.rows(); ++r)
    svg += text_at(at.left - 4, at.top + (double(r) + 0.5) * at.height + 4, cut(m.row_names[r], 16),
                   "text-anchor=\"end\"");
  const size_t step = m.texts.empty() ? size_t(std::ceil(12 / at.width)) : 1;  // slanted names need 12 pixels
  for (size_t c = 0; c < m.columns() && m.columns() <= 64; c += step) {
    const double x = at.left + (double(c) + 0.5) * at.width;
    const std::string turned = fmt::format("transform=\"rotate(-45 {:.1f} {:.1f})\"", x, at.top - 4);
    svg += m.texts.empty()
               ? text_at(x, at.top - 4, cut(m.column_names[c], 16), turned.c_str())
               : text_at(x, at.top - 4, cut(m.column_names[c], 14), "text-anchor=\"middle\" class=\"soft\"");
  }
  for (size_t i = 0; i < m.texts.size(); ++i) {
    const size_t row = i / m.columns(), column = i % m.columns();
    svg += text_at(at.left + (double(column) + 0.5) * at.width, at.top + (double(row) + 0.5) * at.height + 4,
                   cut(m.texts[i], 14), "text-anchor=\"middle\"");
  }
  return svg;
}

std::string json_names(const std::vector<std::string>& names) { return escaped(on_one_line(nlohmann::json(names))); }

/// Three digits are enough for an axis; between the signs what is next to nothing is 0.
std::string tick(const Range& range, double part) {
  const double width = range.most - range.least, value = range.least + part * width;
  if (range.least < 0 && range.most > 0 && std::fabs(value) < 0.02 * width) return "0";
  return std::fabs(value) >= 1000 && std::fabs(value) < 1e15 ? with_commas(std::llround(value))
                                                             : fmt::format("{:.3g}", value);
}

/// A margin, so that no point lies on the axes.
void widen(Range& range) {
  const double margin = 0.04 * (range.most - range.least);
  range.least -= margin, range.most += margin;
}

/// Ticks of an axis: its two ends and the middle.
std::string axes(const Range& x, const Range& y, const std::string& x_is, const std::string& y_is, double left,
                 double top, double width, double height) {
  std::string svg = fmt::format("<path class=\"axis\" d=\"M{0} {1}v{2}h{3}\"/>\n", left, top, height, width);
  for (const double part : {0.0, 0.5, 1.0}) {
    svg += text_at(left + part * width, top + height + 14, tick(x, part),
                   part == 0   ? "class=\"soft\""
                   : part == 1 ? "class=\"soft\" text-anchor=\"end\""
                               : "class=\"soft\" text-anchor=\"middle\"");
    svg += text_at(left - 5, top + height - part * height + 4, tick(y, part), "class=\"soft\" text-anchor=\"end\"");
  }
  svg += text_at(left + width / 2, top + height + 28, x_is, "text-anchor=\"middle\" class=\"soft\"");
  return svg + text_at(left + 4, top - 4, y_is, "class=\"soft\"");
}

}  // namespace

std::string to_svg(const Matrix& m) {
  const Cells at = place(m);
  std::string values;
  for (const double value : m.values) values += (values.empty() ? "" : ",") + number(value);
  const std::string data = fmt::format(
      " class=\"matrix\" data-left=\"{:g}\" data-top=\"{:g}\" data-width=\"{:g}\" data-height=\"{:g}\" "
      "data-row-is=\"{}\" "
      "data-column-is=\"{}\" data-rows=\"{}\" data-columns=\"{}\" data-values=\"{}\"",
      at.left, at.top, at.width, at.height, escaped(m.row_is), escaped(m.column_is), json_names(m.row_names),
      json_names(m.column_names), values);
  const double slanted = m.texts.empty() && m.columns() <= 64
                             ? width_of({m.column_names.empty() ? "" : m.column_names.back()}, 16) * 0.72
                             : 0;
  return figure(m.title, at.left + at.width * double(m.columns()) + slanted + 4,
                at.top + at.height * double(m.rows()) + 4, data, shaded_cells(m, at) + names_of_cells(m, at));
}

std::string to_svg(const Bars& bars) {
  constexpr double room = 260, thick = 12;
  double most = 0;
  for (const Series& s : bars.series)
    for (const double value : s.values) most = std::max(most, std::isfinite(value) ? std::fabs(value) : 0);
  std::vector<std::string> names;
  for (const Series& s : bars.series) names.push_back(s.name);
  const double first = width_of(bars.names, 24) + 8, left = first + (names.size() > 1 ? width_of(names, 24) + 8 : 0);
  std::string svg;
  double y = 4;
  for (size_t i = 0; i < bars.names.size(); ++i, y += 5) {
    svg += text_at(first - 6, y + 10, cut(bars.names[i], 24), "text-anchor=\"end\"");
    for (size_t s = 0; s < bars.series.size(); ++s, y += thick) {
      const double value = bars.series[s].values[i];
      const double length = most > 0 && std::isfinite(value) ? room * std::fabs(value) / most : 0;
      if (names.size() > 1) svg += text_at(left - 6, y + 10, cut(names[s], 24), "text-anchor=\"end\" class=\"soft\"");
      svg +=
          fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n", left, y + 1, length,
                      thick - 2, names.size() > 1 ? fmt::format("fill=\"{}\"", colour_of(s)) : "class=\"more\"");
      svg += text_at(left + length + 4, y + 10, number(value), "class=\"soft\"");
    }
  }
  return figure(bars.title, left + room + 60, y + 4, "", svg);
}

std::string to_svg(const Lines& lines) {
  constexpr double left = 62, top = 18, width = 400, height = 200;
  Range x, y;
  for (const Line& c : lines.lines) {
    for (const double v : c.x) x.take(v);
    for (const double v : c.y) y.take(v);
  }
  std::string svg = axes(x, y, lines.x_is, lines.y_is, left, top, width, height);
  for (size_t i = 0; i < lines.lines.size(); ++i) {
    const Line& c = lines.lines[i];
    std::string path;
    for (size_t n = 0; n < c.x.size(); ++n)
      path += fmt::format("{}{:.1f} {:.1f}", n ? "L" : "M", left + x.part(c.x[n]) * width,
                          top + height - y.part(c.y[n]) * height);
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path, colour_of(i),
                       i % 2 ? " stroke-dasharray=\"7 5\"" : "");
    const double row = top + height + 46 + 16 * double(i);
    svg += fmt::format("<path d=\"M{0} {1}h18\" stroke=\"{2}\" stroke-width=\"3\"/>\n", left, row - 4, colour_of(i));
    svg += text_at(left + 24, row, c.name);
  }
  return figure(lines.title, left + width + 20, top + height + 40 + 16 * double(lines.lines.size()) + 8, "", svg);
}

std::string to_svg(const Points& picture) {
  constexpr double left = 50, top = 18, width = 560, height = 400;
  Range x, y;
  for (const Point& p : picture.points) x.take(p.x), y.take(p.y);
  widen(x), widen(y);
  std::string svg = axes(x, y, picture.x_is, picture.y_is, left, top, width, height), names;
  std::vector<std::pair<double, double>> taken;  // where names begin
  for (const bool stands_out : {true, false})
    for (const Point& p : picture.points) {
      if (p.stands_out != stands_out) continue;
      const double px = left + x.part(p.x) * width, py = top + height - y.part(p.y) * height;
      svg += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>\n",
                         stands_out ? "less" : "more", px, py, stands_out ? 4 : 2.5, escaped(p.name));
      const bool free = std::none_of(taken.begin(), taken.end(), [&](const auto& t) {
        return std::fabs(t.first - px) < 44 && std::fabs(t.second - py) < 11;
      });
      if (!stands_out && !free) continue;
      taken.emplace_back(px, py);
      names += text_at(px + 5, py + 4, cut(p.name, 14), stands_out ? "font-weight=\"bold\"" : "class=\"soft\"");
    }
  return figure(picture.title, left + width + 70, top + height + 36, "", svg + names);
}

namespace {

/// Leaves stand side by side, a node above the middle of its children. Gives the middle.
double add_node(std::string& svg, const Node& node, double& next, int depth, int depths) {
  constexpr double line = 34;
  const double y = 22 + line * depth;
  double middle;
  if (node.children.empty()) {
    const double width = std::max(26.0, letter * columns_of(node.text) + 16);
    middle = next + width / 2, next += width;
  } else {
    std::vector<double> below;
    for (const Node& child : node.children) below.push_back(add_node(svg, child, next, depth + 1, depths));
    middle = (below.front() + below.back()) / 2;
    for (const double x : below)
      svg +=
          fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", middle, y + 4, x, y + line - 12);
  }
  svg += text_at(middle, y, node.text, "text-anchor=\"middle\" font-weight=\"bold\"");
  if (!node.note.empty())
    svg += text_at(middle + letter * columns_of(node.text) / 2 + 4, y - 7, node.note, "class=\"soft\" font-size=\"9\"");
  return middle;
}

int depth_of(const Node& node) {
  int deepest = 0;
  for (const Node& child : node.children) deepest = std::max(deepest, depth_of(child));
  return deepest + 1;
}

}  // namespace

std::string to_svg(const Tree& tree) {
  int depths = 1;
  for (const Node& root : tree.roots) depths = std::max(depths, depth_of(root));
  std::string svg;
  double next = 10;
  for (const Node& root : tree.roots) add_node(svg, root, next, 0, depths), next += 30;
  return figure(tree.title, next + 10, 34.0 * depths + 12, "", svg);
}

}  // namespace rungs
