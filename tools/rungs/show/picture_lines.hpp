/// Lines of a terminal: how wide they are, how they are cut, and how blocks of them stand side by side.
#pragma once

#include <string>
#include <vector>

namespace rungs {

/// The lines of one picture.
using TextLines = std::vector<std::string>;

/// Columns that a text takes on a terminal: escape sequences none, wide characters two.
int columns_of(const std::string& text);

/// The text, cut to so many columns; what is cut ends in "…".
std::string cut(const std::string& text, int columns);

/// The text with spaces behind it, up to so many columns.
std::string aligned(const std::string& text, int columns);

/// The text with "?" for what is not ASCII.
std::string ascii(std::string text);

/// Blocks side by side as long as they fit into `width` columns, then below each other; an empty line between.
std::string beside(const std::vector<TextLines>& blocks, int width);

/// The least and the largest of some numbers.
struct Range {
  double least = 0, most = 0;
  bool any = false;

  void take(double value);
  /// Where a value lies between them: 0 to 1.
  double part(double value) const { return most > least ? (value - least) / (most - least) : 0.5; }
};

}  // namespace rungs
