#include "fold.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rungs {

/// Bytes of the character, or of the sequence that sets a colour, at `at`.
static size_t length_at(std::string_view line, size_t at) {
  if (line[at] == '\x1b') return std::min(line.find('m', at), line.size() - 1) - at + 1;
  size_t n = 1;
  while (at + n < line.size() && (line[at + n] & 0xC0) == 0x80) ++n;
  return n;
}

/// Where a line ends that may be `columns` wide: the byte after its last, and the byte that the next begins with.
struct Break {
  size_t end, next;
};

static Break break_of(std::string_view line, size_t columns) {
  size_t width = 0, space = 0, beyond = 0;  // [space, beyond): the last spaces after a word
  bool word = false;
  for (size_t at = 0; at < line.size();) {
    const size_t n = length_at(line, at);
    const bool takes_room = line[at] != '\x1b';
    if (line[at] == ' ') {
      if (word) space = at;
      word = false, beyond = at + 1;
    } else if (takes_room) {
      if (width >= columns) return space > 0 ? Break{space, beyond} : Break{at, at};
      word = true;
    }
    width += takes_room;
    at += n;
  }
  return {line.size(), line.size()};
}

std::vector<std::string> folded(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    do {
      const Break b = break_of(line, std::max<size_t>(1, columns));
      lines.emplace_back(line.substr(0, b.end));
      line.remove_prefix(b.next);
    } while (!line.empty());
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string> shortened(std::vector<std::string> lines, size_t rows, size_t columns,
                                   const std::string& where) {
  rows = std::max<size_t>(3, rows);
  if (lines.size() <= rows) return lines;
  const size_t cut = lines.size() - rows + 1;
  const auto first = lines.end() - std::ptrdiff_t(cut) - 2;
  *first = fmt::format("... {} lines more: {}", cut, where);
  if (first->size() > columns) *first = fmt::format("... {} lines more", cut);
  lines.erase(first + 1, lines.end() - 2);
  return lines;
}

}  // namespace rungs
