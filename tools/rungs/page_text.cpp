// The blocks of a page: headings, tables, code, paragraphs.
#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "fold.hpp"
#include "page.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/text.hpp"

namespace rungs {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// "a code" gives "code": what follows a command and its spaces.
std::string argument(const std::string& line) {
  const size_t space = line.find(' ');
  return space == line.npos ? "" : line.substr(line.find_first_not_of(' ', space));
}

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

/// Turns the lines of a page into those of a terminal, a block at a time.
class PageWriter {
 public:
  PageWriter(const Lesson& lesson, size_t columns, bool colour)
      : lesson_(lesson),
        columns_(std::clamp<size_t>(columns, 20, 100)),
        colour_(colour),
        page_(lines_of(read_text(lesson.page))) {}

  std::string text() {
    while (at_ < page_.size()) block();
    return out_;
  }

 private:
  bool begins(const char* what) const { return at_ < page_.size() && page_[at_].starts_with(what); }
  /// Of those that take a line; a formula's begin with a backslash, too.
  bool is_command() const {
    static const std::set<std::string> names = {"\\verbinclude", "\\include", "\\dontinclude", "\\skip",
                                                "\\skipline",    "\\until",   "\\line",        "\\htmlinclude",
                                                "\\image",       "\\dot",     "\\htmlonly"};
    const std::string& line = page_[at_];
    return names.count(line.substr(0, line.find_first_of(" [{"))) > 0;
  }
  void block();
  void heading();
  void code();
  void table();
  void folded_text();
  void quoted(const std::string& line);
  void paragraph();
  void skip_to(const char* end);
  void write_code(const std::string& line) {
    out_ += "    " + (colour_ ? fmt::format(fmt::fg(fmt::terminal_color::cyan), "{}", line) : line) + "\n";
  }

  const Lesson& lesson_;
  size_t columns_;
  bool colour_;
  std::vector<std::string> page_, quoted_ = {};  // the page, and the file that it quotes from
  size_t at_ = 0, quoted_at_ = 0;
  std::string out_ = {};
};

void PageWriter::block() {
  const std::string line = page_[at_];
  if (line.empty()) {
    if (!out_.empty() && !out_.ends_with("\n\n")) out_ += "\n";
    ++at_;
  } else if (begins("#")) {
    heading();
  } else if (begins("```")) {
    code();
  } else if (begins("    ")) {
    write_code(page_[at_++].substr(4));
  } else if (begins("|")) {
    table();
  } else if (begins("<details>")) {
    folded_text();
  } else if (begins("\\htmlonly")) {
    skip_to("\\endhtmlonly");
  } else if (begins("\\dot")) {
    skip_to("\\enddot");
    out_ += "    (Here the page has a drawing.)\n";
  } else if (begins("<table")) {
    skip_to("</table>");
    out_ += "    (Here the page has a drawn table.)\n";
  } else if (is_command()) {
    quoted(line);
    ++at_;
  } else {
    paragraph();
  }
}

void PageWriter::heading() {
  std::string title = page_[at_++];
  const bool first = title.starts_with("# ");
  title = title.substr(title.find_first_not_of('#') + 1);
  title = plain_words(title.substr(0, title.find(" {#")), false);
  out_ += (colour_ ? fmt::format(fmt::emphasis::bold, "{}", title) : title) + "\n";
  for (size_t i = 0; i < std::min(columns_, width_of(title)); ++i) out_ += first ? "═" : "─";
  out_ += "\n";
}

void PageWriter::code() {
  for (++at_; at_ < page_.size() && !begins("```"); ++at_) write_code(page_[at_]);
  ++at_;
}

void PageWriter::table() {
  std::vector<std::vector<std::string>> rows;
  std::vector<size_t> widths;
  for (; begins("|"); ++at_) {
    if (page_[at_].find_first_not_of("|-: ") == std::string::npos && rows.size() == 1) continue;
    std::vector<std::string> cells;
    std::istringstream in(plain_words(page_[at_].substr(1), colour_));
    for (std::string cell; std::getline(in, cell, '|');) {
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
      cells.push_back(cell);
      widths.resize(std::max(widths.size(), cells.size()));
      widths[cells.size() - 1] = std::max(widths[cells.size() - 1], width_of(cell));
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

/// Of what is folded, its title; hints are read one at a time.
void PageWriter::folded_text() {
  std::string all;
  for (; at_ < page_.size(); ++at_) {
    all += page_[at_] + "\n";
    if (begins("</details>")) break;
  }
  ++at_;
  const size_t begin = all.find("<summary>"), end = all.find("</summary>");
  if (begin == all.npos || end == all.npos) return;
  const std::string title = plain_words(all.substr(begin + 9, end - begin - 9), colour_);
  out_ += "  + " + title + (title.starts_with("Hint 1") ? "   (rungs hint shows them)" : "") + "\n";
}

/// \verbinclude, \dontinclude and what takes lines from that file.
void PageWriter::quoted(const std::string& line) {
  const std::string what = line.substr(0, line.find(' ')), text = argument(line);
  const std::filesystem::path lessons = lesson_.source.parent_path();
  const auto show_if_there = [&](const std::filesystem::path& file) {
    if (exists(file))
      for (const std::string& l : lines_of(read_text(file))) write_code(l);
  };
  const auto holds = [&] { return quoted_[quoted_at_].find(text) != std::string::npos; };
  if (what == "\\verbinclude")
    show_if_there(text == lesson_.page.parent_path().filename().string() + ".txt"
                      ? lesson_.page.parent_path() / "expected.txt"
                      : lessons / text);
  if (what == "\\include") show_if_there(lessons / text);
  if (what == "\\dontinclude") {
    quoted_at_ = 0, quoted_.clear();
    if (exists(lessons / text)) quoted_ = lines_of(read_text(lessons / text));
  }
  if (what == "\\skip" || what == "\\skipline")
    while (quoted_at_ < quoted_.size() && !holds()) ++quoted_at_;
  if (what == "\\skipline" && quoted_at_ < quoted_.size()) write_code(quoted_[quoted_at_++]);
  for (bool last = what != "\\until"; !last && quoted_at_ < quoted_.size(); ++quoted_at_) {
    last = holds();
    write_code(quoted_[quoted_at_]);
  }
  if (what == "\\image") out_ += "    (Here the page has a picture.)\n";
}

void PageWriter::paragraph() {
  std::string text;
  const auto is_item = [&] {
    return begins("- ") || begins("* ") || (isdigit(page_[at_][0]) && page_[at_].find(". ") < 3);
  };
  do {
    text += page_[at_++] + " ";
  } while (at_ < page_.size() && !page_[at_].empty() && !is_item() && !begins("|") && !begins("```") &&
           !begins("<details>") && !is_command());
  text.pop_back();
  for (const std::string& line : folded(plain_words(text, colour_), columns_)) out_ += line + "\n";
}

void PageWriter::skip_to(const char* end) {
  while (at_ < page_.size() && page_[at_].find(end) == std::string::npos) ++at_;
  ++at_;
}

}  // namespace

std::string page_text(const Lesson& lesson, size_t columns, bool colour) {
  return PageWriter(lesson, columns, colour).text();
}

}  // namespace rungs
