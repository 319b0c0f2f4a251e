/// Pictures as data: what `rungs show` draws, before it is known whether on a terminal or on a page.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace rungs {

/// What a shade means.
enum class Shades {
  amount,  ///< from 0, which is drawn as a dot, to `most`
  sign,    ///< from -most over 0 to most, in two colours
  kind     ///< whole numbers that only tell apart: each has its own colour
};

/// A table of shaded cells.
struct Matrix {
  std::string title;
  std::vector<std::string> row_names, column_names;  ///< one for each row and column
  std::vector<double> values;                        ///< (rows, columns); NaN: no cell
  std::vector<std::string> texts = {};               ///< in the cells, (rows, columns); or none
  Shades shades = Shades::amount;
  double most = 0;                          ///< where the scale ends; 0: at the largest value
  std::vector<bool> marked = {};            ///< cells that stand out, (rows, columns); or none
  std::string row_is = {}, column_is = {};  ///< "query", "key"

  size_t rows() const { return row_names.size(); }
  size_t columns() const { return column_names.size(); }
};

/// Numbers that belong to names.
struct Series {
  std::string name;
  std::vector<double> values;  ///< one for each name
};

/// Horizontal bars from zero, of one or more series.
struct Bars {
  std::string title;
  std::vector<std::string> names;
  std::vector<Series> series;
};

/// One curve, by its points.
struct Line {
  std::string name;
  std::vector<double> x, y;
};

/// Curves over one axis.
struct Lines {
  std::string title, x_is, y_is;
  std::vector<Line> lines;
};

/// A named place in the plane.
struct Point {
  std::string name;
  double x, y;
  bool stands_out = false;  ///< its name is always shown
};

/// Points in the plane; near means alike.
struct Points {
  std::string title, x_is, y_is;
  std::vector<Point> points;
};

/// A node of a tree, and the nodes under it.
struct Node {
  std::string text, note = {};  ///< the note tells how it came to be
  std::vector<Node> children = {};
};

/// One or more trees, side by side.
struct Tree {
  std::string title;
  std::vector<Node> roots;
};

using Picture = std::variant<Matrix, Bars, Lines, Points, Tree>;

/// Pictures that belong together, under a heading.
struct Section {
  std::string heading, text;
  std::vector<Picture> pictures;
};

/// Everything that one command shows.
struct Drawing {
  std::string title;
  std::string drawn_from;          ///< whose code, or which model
  std::vector<std::string> notes;  ///< what was left out
  std::vector<Section> sections;
};

/// \throws Error for a picture that has more or fewer values than names: what a learner's code gave may have any shape.
void check_sizes(const Drawing& drawing);

/// Where the scale of a matrix ends: `most`, or the largest value, of either sign.
double scale_of(const Matrix& matrix);

/// How a cell is drawn, of `levels` shades: 0 for exactly zero, 1 to levels for the others, negative below zero.
int level_of(double value, double most, int levels);

inline constexpr int narrowest = 32;  ///< columns of a terminal that a drawing can do with

/// How a terminal is to be written to.
struct TextStyle {
  int width = 80;       ///< columns, at least `narrowest`
  bool colour = false;  ///< shades of 256 colours; otherwise characters
};

/// The drawing as lines of a terminal. What does not fit is left out, and a line says what.
std::string to_text(const Drawing& drawing, const TextStyle& style);

/// The numbers, as JSON over several lines.
std::string to_json(const Drawing& drawing);

/// A page that needs nothing but itself: light or dark as the browser is, narrow or wide.
std::string to_page(const Drawing& drawing);

/// The part of that page which can stand inside another one.
std::string to_fragment(const Drawing& drawing);

}  // namespace rungs
