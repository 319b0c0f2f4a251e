#include "picture_lines.hpp"

#include <algorithm>
#include <cmath>

#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

namespace {

bool is_wide(uint32_t code) {
  return (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
         (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
         (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
         (code >= 0x1F300 && code <= 0x1FAFF) || (code >= 0x20000 && code <= 0x3FFFD);
}

/// The length of an escape sequence of colour at the beginning of a text; 0: there is none.
size_t escape_length(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const size_t end = text.find('m');
  return end == text.npos ? text.size() : end + 1;
}

}  // namespace

int columns_of(const std::string& text) {
  int columns = 0;
  for (std::string_view left = text; !left.empty();) {
    if (const size_t escape = escape_length(left)) {
      left.remove_prefix(escape);
      continue;
    }
    const Character c = first_character(left);
    columns += c.valid && is_wide(c.code) ? 2 : 1;
    left.remove_prefix(c.length);
  }
  return columns;
}

std::string cut(const std::string& text, int columns) {
  if (columns_of(text) <= columns) return text;
  std::string kept;
  int used = 0;
  for (std::string_view left = text; !left.empty();) {
    const Character c = first_character(left);
    const int width = c.valid && is_wide(c.code) ? 2 : 1;
    if (used + width > columns - 1) break;
    kept += left.substr(0, c.length), used += width;
    left.remove_prefix(c.length);
  }
  return columns > 0 ? kept + "…" : "";
}

std::string aligned(const std::string& text, int columns) {
  return text + std::string(size_t(std::max(0, columns - columns_of(text))), ' ');
}

std::string ascii(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

std::string beside(const std::vector<TextLines>& blocks, int width) {
  constexpr int gap = 3;
  std::string text;
  for (size_t first = 0, end; first < blocks.size(); first = end) {
    int used = 0;
    size_t height = 0;
    std::vector<int> widths;
    for (end = first; end < blocks.size(); ++end) {
      int own = 0;
      for (const std::string& line : blocks[end]) own = std::max(own, columns_of(line));
      if (end > first && used + gap + own > width) break;
      used += own + (end > first ? gap : 0);
      widths.push_back(own), height = std::max(height, blocks[end].size());
    }
    text += "\n";
    for (size_t row = 0; row < height; ++row) {
      std::string line;
      for (size_t b = first; b < end; ++b) {
        const std::string part = row < blocks[b].size() ? blocks[b][row] : "";
        line += b + 1 < end ? aligned(part, widths[b - first] + gap) : part;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text;
}

void Range::take(double value) {
  if (!std::isfinite(value)) return;
  least = any ? std::min(least, value) : value;
  most = any ? std::max(most, value) : value;
  any = true;
}

}  // namespace rungs
