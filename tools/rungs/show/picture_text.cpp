// Pictures on a terminal: cells are shaded by colours of the background, or by characters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "picture.hpp"
#include "picture_lines.hpp"
#include "rungs/base/text.hpp"

namespace rungs {

namespace {

constexpr int most_rows = 64;  // of a matrix: more than a screen is not looked at

/// Colours of the 256 that terminals have: from grey to blue, and from grey to red.
constexpr int blues[] = {236, 238, 23, 24, 25, 31, 32, 38, 45, 51},
              reds[] = {236, 238, 52, 88, 124, 160, 196, 202, 208, 214};
constexpr int kinds[] = {24, 88, 22, 94, 54, 30, 130, 60, 25, 124, 28, 58, 90, 66, 136, 96};

std::string painted(const std::string& text, int background) {
  const int ink = background >= 38 && background <= 51 ? 16 : background >= 208 && background <= 220 ? 16 : 255;
  return fmt::format("\033[48;5;{};38;5;{}m{}\033[0m", background, ink, text);
}

/// A cell without colour: one of four densities, of other characters below zero.
std::string by_character(double value, double most, int width) {
  if (value == 0) return aligned("·", width);
  constexpr const char *above[] = {" ", "░", "▒", "▓", "█"}, *below[] = {" ", "-", "~", "=", "#"};
  const double fraction = std::min(1.0, std::fabs(value) / most);
  const int level = fraction < 0.05 ? 0 : level_of(fraction, 1, 4);
  std::string cell;
  for (int i = 0; i < width; ++i) cell += value < 0 ? below[level] : above[level];
  return cell;
}

std::string cell_of(const Matrix& m, size_t at, double most, int width, const TextStyle& style) {
  const double value = m.values[at];
  std::string text = m.texts.empty() ? "" : cut(m.texts[at], width - 1);
  const bool marked = !m.marked.empty() && m.marked[at];
  if (marked && text.empty()) text = "x";
  if (std::isnan(value)) return aligned(m.texts.empty() ? "?" : text, width);
  if (!style.colour && marked && m.texts.empty() && width > 1)  // the mark, and the shade behind it
    return "x" + by_character(value, most, width - 1);
  if (!style.colour) return text.empty() ? by_character(value, most, width) : aligned(text, width);
  if (m.shades == Shades::kind)
    return painted(aligned(text, width), kinds[size_t(std::fabs(value)) % std::size(kinds)]);
  if (value == 0) return aligned(text.empty() ? "·" : text, width);
  const int level = level_of(value, most, 10);
  return painted(aligned(text, width), level < 0 ? reds[-level - 1] : blues[level - 1]);
}

/// How many columns of the terminal each part of a matrix takes, and what is left out.
struct Fit {
  int names = 0, cell = 1;
  size_t rows = 0, columns = 0;
};

Fit fit(const Matrix& m, int width) {
  Fit f;
  for (const std::string& name : m.row_names) f.names = std::max(f.names, columns_of(name));
  f.names = std::min({f.names, 14, width / 3});
  int text = 0;
  for (const std::vector<std::string>* words : {&m.texts, &m.column_names})
    for (const std::string& t : *words) text = m.texts.empty() ? 0 : std::max(text, columns_of(t) + 1);
  const int room = std::max(1, width - f.names - 5);
  f.cell = text ? std::min(text, 14) : int(m.columns()) * 2 <= room ? 2 : 1;
  f.columns = std::min(m.columns(), size_t(std::max(1, room / f.cell)));
  f.rows = std::min<size_t>(m.rows(), most_rows);
  return f;
}

/// Names over the columns where they fit, their numbers where they do not.
std::string heading(const Matrix& m, const Fit& f) {
  std::string line = aligned("", f.names + 5);
  for (size_t c = 0; c < f.columns; ++c) {
    const bool number = f.cell <= 3 && m.texts.empty();
    const std::string name =
        number ? fmt::format("{}", c % (f.cell == 1 ? 10 : 100)) : cut(m.column_names[c], f.cell - 1);
    line += aligned(name, f.cell);
  }
  return line;
}

TextLines lines_of(const Matrix& m, const TextStyle& style) {
  const Fit f = fit(m, style.width);
  const double most = scale_of(m);
  TextLines lines{cut(m.title, style.width), heading(m, f)};
  const bool numbers = !m.row_names.empty() && m.row_names[0] != "0";  // where they are not the names
  for (size_t r = 0; r < f.rows; ++r) {
    std::string line =
        (numbers ? fmt::format("{:>3} ", r) : "    ") + aligned(cut(m.row_names[r], f.names), f.names + 1);
    for (size_t c = 0; c < f.columns; ++c) line += cell_of(m, r * m.columns() + c, most, f.cell, style);
    lines.push_back(line);
  }
  std::string left_out;
  if (f.columns < m.columns()) left_out = fmt::format("{} of {} columns", f.columns, m.columns());
  if (f.rows < m.rows()) left_out += fmt::format("{}{} of {} rows", left_out.empty() ? "" : ", ", f.rows, m.rows());
  if (!left_out.empty()) lines.push_back(cut(fmt::format("({}; all: --html)", left_out), style.width));
  return lines;
}

TextLines lines_of(const Bars& bars, const TextStyle& style) {
  int names = 0, series = 0;
  double most = 0;
  for (const std::string& name : bars.names) names = std::max(names, columns_of(name));
  for (const Series& s : bars.series) {
    series = std::max(series, columns_of(s.name));
    for (const double value : s.values) most = std::max(most, std::isfinite(value) ? std::fabs(value) : 0);
  }
  names = std::min(names, style.width / 3), series = std::min(series, style.width / 4);
  const int room = std::clamp(style.width - names - series - 13, 4, 60);
  TextLines lines{cut(bars.title, style.width)};
  for (size_t i = 0; i < bars.names.size(); ++i)
    for (size_t s = 0; s < bars.series.size(); ++s) {
      const double value = bars.series[s].values[i];
      std::string line = aligned(s == 0 ? cut(bars.names[i], names) : "", names) + " ";
      line += aligned(cut(bars.series[s].name, series), series) + fmt::format("{:>10} ", number(value));
      const int length = most > 0 && std::isfinite(value) ? int(std::lround(room * std::fabs(value) / most)) : 0;
      std::string bar;
      for (int n = 0; n < length; ++n) bar += "█";
      lines.push_back(line + (style.colour ? fmt::format("\033[38;5;{}m{}\033[0m", kinds[s % 16], bar) : bar));
    }
  return lines;
}

/// Characters by row and column, for curves and points.
class Canvas {
 public:
  Canvas(int width, int height) : width_(width), rows_(size_t(height), std::vector<std::string>(size_t(width), " ")) {}
  void put(int row, int column, const std::string& character) {
    if (row >= 0 && row < int(rows_.size()) && column >= 0 && column < width_)
      rows_[size_t(row)][size_t(column)] = character;
  }
  /// The text where nothing stands yet; false where something does, and then nothing changes.
  bool write(int row, int column, const std::string& text) {
    const int length = int(text.size());
    if (row < 0 || row >= int(rows_.size()) || column < 0 || column + length > width_) return false;
    for (int i = std::max(0, column - 1); i < std::min(width_, column + length + 1); ++i)
      if (rows_[size_t(row)][size_t(i)] != " ") return false;
    for (int i = 0; i < length; ++i) put(row, column + i, text.substr(size_t(i), 1));
    return true;
  }
  void append_to(TextLines& lines) const {
    for (const auto& row : rows_) {
      lines.emplace_back("│");
      for (const std::string& character : row) lines.back() += character;
    }
    lines.emplace_back("└");
    for (int i = 0; i < width_; ++i) lines.back() += "─";
  }

 private:
  int width_;
  std::vector<std::vector<std::string>> rows_;
};

/// Where a line is over x, between its points; NaN where it is not.
double height_at(const Line& line, double x) {
  for (size_t i = 0; i < line.x.size(); ++i) {
    if (line.x[i] == x) return line.y[i];
    if (i + 1 < line.x.size() && line.x[i] < x && x <= line.x[i + 1])
      return line.y[i] + (line.y[i + 1] - line.y[i]) * (x - line.x[i]) / (line.x[i + 1] - line.x[i]);
  }
  return std::nan("");
}

TextLines lines_of(const Lines& picture, const TextStyle& style) {
  const int width = std::clamp(style.width - 2, 10, 72), height = 12;
  Range x, y;
  for (const Line& c : picture.lines) {
    for (const double v : c.x) x.take(v);
    for (const double v : c.y) y.take(v);
  }
  Canvas canvas(width, height);
  constexpr const char* marks[] = {"*", "o", "+", "x", "#", "@"};
  TextLines lines{cut(picture.title, style.width),
                  cut(fmt::format("{} from {} to {}", picture.y_is, number(y.least), number(y.most)), style.width)};
  std::string legend;
  for (size_t i = 0; i < picture.lines.size(); ++i) {
    const Line& c = picture.lines[i];
    for (int column = 0; column < width; ++column)
      if (const double at = height_at(c, x.least + (x.most - x.least) * column / (width - 1)); std::isfinite(at))
        canvas.put(height - 1 - int(std::lround(y.part(at) * (height - 1))), column, marks[i % std::size(marks)]);
    legend += fmt::format("{}{} {}", i ? "   " : "", marks[i % std::size(marks)], c.name);
  }
  canvas.append_to(lines);
  lines.push_back(cut(fmt::format("{} from {} to {}", picture.x_is, number(x.least), number(x.most)), style.width));
  lines.push_back(cut(legend, style.width));
  return lines;
}

TextLines lines_of(const Points& picture, const TextStyle& style) {
  const int width = std::clamp(style.width - 2, 10, 76), height = 20;
  Range x, y;
  for (const Point& p : picture.points) x.take(p.x), y.take(p.y);
  Canvas canvas(width, height);
  std::vector<const Point*> order;
  for (const bool stands_out : {true, false})
    for (const Point& p : picture.points)
      if (p.stands_out == stands_out) order.push_back(&p);
  for (const Point* p : order) {
    const int row = height - 1 - int(std::lround(y.part(p->y) * (height - 1)));
    const int column = int(std::lround(x.part(p->x) * (width - 1)));
    const std::string name = ascii(p->name);
    if (!canvas.write(row, column, name) && !canvas.write(row, column - int(name.size()) + 1, name))
      canvas.write(row, column, p->stands_out ? "*" : ".");
  }
  TextLines lines{cut(picture.title, style.width)};
  canvas.append_to(lines);
  lines.push_back(cut(fmt::format("across: {}; up: {}", picture.x_is, picture.y_is), style.width));
  return lines;
}

void add_node(TextLines& lines, const Node& node, const std::string& indent, bool last, int width) {
  const std::string note = node.note.empty() ? "" : "   " + node.note;
  lines.push_back(cut(indent + (last ? "└ " : "├ ") + node.text + note, width));
  for (size_t i = 0; i < node.children.size(); ++i)
    add_node(lines, node.children[i], indent + (last ? "  " : "│ "), i + 1 == node.children.size(), width);
}

TextLines lines_of(const Tree& tree, const TextStyle& style) {
  TextLines lines;
  if (!tree.title.empty()) lines.push_back(cut(tree.title, style.width));
  for (size_t i = 0; i < tree.roots.size(); ++i)
    add_node(lines, tree.roots[i], "", i + 1 == tree.roots.size(), style.width);
  return lines;
}

/// What the shades mean, under the first section that has some.
std::string legend(const Section& section, const TextStyle& style) {
  const Matrix* shaded = nullptr;
  for (const Picture& p : section.pictures)
    if (const auto* m = std::get_if<Matrix>(&p))
      if (m->shades != Shades::kind && (m->texts.empty() || style.colour)) shaded = m;
  if (!shaded) return "";
  const std::string most = number(scale_of(*shaded));
  const bool sign = shaded->shades == Shades::sign;
  if (style.colour) {
    std::string shades;
    for (const int colour : blues) shades += painted(" ", colour);
    std::vector<TextLines> parts = {{"· is exactly 0"}, {shades + " to " + most}};
    if (sign) parts.push_back({"reds below 0"});
    return beside(parts, style.width).substr(1);
  }
  const std::string says = "· is exactly 0; blank below 5%, ░ ▒ ▓ █ up to 25, 50, 75 and 100% of " + most;
  return wrapped(says + (sign ? "; - ~ = # below 0" : ""), size_t(style.width), "") + "\n";
}

}  // namespace

std::string to_text(const Drawing& drawing, const TextStyle& style) {
  check_sizes(drawing);
  std::string text = wrapped(drawing.title, size_t(style.width), "") + "\n";
  text += wrapped("Drawn from " + drawing.drawn_from + ".", size_t(style.width), "") + "\n";
  for (const std::string& note : drawing.notes) text += wrapped(note, size_t(style.width), "") + "\n";
  std::string last;  // a legend that still holds is not said again
  for (const Section& section : drawing.sections) {
    text += "\n" + (style.colour ? "\033[1m" + section.heading + "\033[0m" : section.heading) + "\n";
    if (!section.text.empty()) text += wrapped(section.text, size_t(style.width), "") + "\n";
    std::vector<TextLines> blocks;
    for (const Picture& picture : section.pictures)
      blocks.push_back(std::visit([&](const auto& p) { return lines_of(p, style); }, picture));
    text += beside(blocks, style.width);
    const std::string says = legend(section, style);
    text += says == last ? "" : says;
    last = says;
  }
  return text;
}

}  // namespace rungs
