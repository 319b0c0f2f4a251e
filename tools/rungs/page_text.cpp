// A page, set for a terminal.
#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>

#include "fold.hpp"
#include "page.hpp"
#include "page_blocks.hpp"

namespace rungs {

namespace {

/// Characters on the screen, without what sets colours.
size_t width_of(const std::string& text) {
  size_t n = 0;
  bool sequence = false;
  for (const char c : text) {
    if (c == '\x1b') sequence = true;
    if (!sequence && (c & 0xC0) != 0x80) ++n;
    if (c == 'm') sequence = false;
  }
  return n;
}

/// Turns the blocks of a page into the lines of a terminal.
class PageWriter {
 public:
  PageWriter(size_t columns, bool colour) : columns_(std::clamp<size_t>(columns, 20, 100)), colour_(colour) {}

  std::string text_of(const std::vector<PageBlock>& blocks) {
    bool folded_away = false;
    for (const PageBlock& b : blocks) {
      if (b.kind == PageBlock::fold_end)
        folded_away = false;
      else if (!folded_away)
        write(b);
      folded_away = folded_away || b.kind == PageBlock::fold;
    }
    return out_;
  }

 private:
  void write(const PageBlock& b);
  void heading(const PageBlock& b);
  void table(const PageBlock& b);
  void words(const std::string& text) {
    for (const std::string& line : folded(plain_words(text, colour_), columns_)) out_ += line + "\n";
  }

  size_t columns_;
  bool colour_;
  std::string out_ = {};
};

void PageWriter::write(const PageBlock& b) {
  switch (b.kind) {
    case PageBlock::heading:
      return heading(b);
    case PageBlock::paragraph:
    case PageBlock::item:
      return words(b.text);
    case PageBlock::code:
      for (const std::string& line : b.lines)
        out_ += "    " + (colour_ ? fmt::format(fmt::fg(fmt::terminal_color::cyan), "{}", line) : line) + "\n";
      return;
    case PageBlock::table:
      return table(b);
    case PageBlock::fold:  // its title alone; hints are read one at a time
      if (b.text.empty()) return;
      out_ += "  + " + plain_words(b.text, colour_) +
              (b.text.starts_with("Hint 1") ? "   (./rungs hint shows them)" : "") + "\n";
      return;
    case PageBlock::html:
      if (b.text.starts_with("<table")) out_ += "    (Here the page has a drawn table.)\n";
      return;
    case PageBlock::drawing:
      if (!b.text.ends_with(".html")) out_ += "    (Here the page has a drawing.)\n";
      return;
    case PageBlock::picture:
      out_ += "    (Here the page has a picture.)\n";
      return;
    case PageBlock::gap:
      if (!out_.empty() && !out_.ends_with("\n\n")) out_ += "\n";
      return;
    case PageBlock::fold_end:
      return;
  }
}

void PageWriter::heading(const PageBlock& b) {
  const std::string title = plain_words(b.text, false);
  out_ += (colour_ ? fmt::format(fmt::emphasis::bold, "{}", title) : title) + "\n";
  for (size_t i = 0; i < std::min(columns_, width_of(title)); ++i) out_ += b.level == 1 ? "═" : "─";
  out_ += "\n";
}

void PageWriter::table(const PageBlock& b) {
  std::vector<std::vector<std::string>> rows;
  std::vector<size_t> widths;
  for (const std::vector<std::string>& marked : b.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : marked) {
      cells.push_back(plain_words(cell, colour_));
      widths.resize(std::max(widths.size(), cells.size()));
      widths[cells.size() - 1] = std::max(widths[cells.size() - 1], width_of(cells.back()));
    }
    rows.push_back(std::move(cells));
  }
  for (const std::vector<std::string>& cells : rows) {
    std::string line = "  ";
    for (size_t i = 0; i < cells.size(); ++i)
      line += cells[i] + (i + 1 < cells.size() ? std::string(widths[i] - width_of(cells[i]) + 2, ' ') : "");
    for (const std::string& part : folded(line, columns_)) out_ += part + "\n";
  }
}

}  // namespace

std::string page_text(const Lesson& lesson, size_t columns, bool colour) {
  return PageWriter(columns, colour).text_of(page_blocks(lesson));
}

}  // namespace rungs
