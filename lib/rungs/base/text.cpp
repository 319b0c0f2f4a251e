#include "rungs/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace rungs {

std::string number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return fmt::format("{:.4g}", x);
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  return shown;
}

/// Characters on the screen: the bytes of UTF-8 that do not continue another.
static size_t width_of(const std::string& text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string wrapped(const std::string& text, size_t width, const std::string& indent) {
  std::istringstream words(text);
  std::string out = indent, word;
  for (size_t column = 0; words >> word;) {
    if (column > 0 && column + 1 + width_of(word) > width) out += "\n" + indent, column = 0;
    out += (column ? " " : "") + word;
    column += width_of(word) + (column > 0);
  }
  return out;
}

}  // namespace rungs
