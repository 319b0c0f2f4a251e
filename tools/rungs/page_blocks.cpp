#include "page_blocks.hpp"

#include <set>
#include <sstream>

#include "rungs/base/file.hpp"

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

/// Takes the lines of a page a block at a time.
class PageReader {
 public:
  explicit PageReader(const Lesson& lesson) : lesson_(lesson), page_(lines_of(read_text(lesson.page))) {}

  std::vector<PageBlock> blocks() {
    while (at_ < page_.size()) block();
    return std::move(blocks_);
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
  bool is_item() const { return begins("- ") || begins("* ") || (isdigit(page_[at_][0]) && page_[at_].find(". ") < 3); }
  void block();
  void heading();
  void fenced_code();
  void table();
  void fold();
  void quoted(const std::string& line);
  void paragraph();
  /// What stands up to a line with this in it, and that line, which is part of it `with_end`.
  std::string text_to(const char* end, bool with_end);
  void add(PageBlock::Kind kind, std::string text = "") { blocks_.push_back({kind, std::move(text)}); }
  /// Lines that follow each other are one block.
  void add_code(const std::string& line) {
    if (blocks_.empty() || blocks_.back().kind != PageBlock::code) add(PageBlock::code);
    blocks_.back().lines.push_back(line);
  }

  const Lesson& lesson_;
  std::vector<std::string> page_, quoted_ = {};  // the page, and the file that it quotes from
  size_t at_ = 0, quoted_at_ = 0;
  std::vector<PageBlock> blocks_ = {};
};

void PageReader::block() {
  const std::string line = page_[at_];
  if (line.empty()) {
    add(PageBlock::gap), ++at_;
  } else if (begins("#")) {
    heading();
  } else if (begins("```")) {
    fenced_code();
  } else if (begins("    ")) {
    add_code(page_[at_++].substr(4));
  } else if (begins("|")) {
    table();
  } else if (begins("<details>")) {
    fold();
  } else if (begins("</details>")) {
    add(PageBlock::fold_end), ++at_;
  } else if (begins("\\htmlonly")) {
    ++at_;
    add(PageBlock::html, "\n" + text_to("\\endhtmlonly", false));  // in a terminal, nothing stands for it
  } else if (begins("\\dot")) {
    ++at_;
    add(PageBlock::drawing, text_to("\\enddot", false));
  } else if (begins("<table")) {
    add(PageBlock::html, text_to("</table>", true));
  } else if (is_command()) {
    quoted(line);
    ++at_;
  } else {
    paragraph();
  }
}

void PageReader::heading() {
  const std::string line = page_[at_++], title = line.substr(line.find_first_not_of('#') + 1);
  add(PageBlock::heading, title.substr(0, title.find(" {#")));
  blocks_.back().level = int(line.find_first_not_of('#'));
}

void PageReader::fenced_code() {
  add(PageBlock::code);
  for (++at_; at_ < page_.size() && !begins("```"); ++at_) add_code(page_[at_]);
  ++at_;
}

void PageReader::table() {
  PageBlock table{PageBlock::table};
  for (; begins("|"); ++at_) {
    if (page_[at_].find_first_not_of("|-: ") == std::string::npos && table.rows.size() == 1) continue;
    std::vector<std::string> cells;
    std::istringstream in(page_[at_].substr(1));
    for (std::string cell; std::getline(in, cell, '|');) {
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
      cells.push_back(cell);
    }
    table.rows.push_back(std::move(cells));
  }
  blocks_.push_back(std::move(table));
}

/// Its title is on the line that begins it, or on the next.
void PageReader::fold() {
  std::string line = page_[at_++];
  if (line == "<details>" && begins("<summary>")) line = page_[at_++];
  const size_t begin = line.find("<summary>"), end = line.find("</summary>");
  const bool titled = begin != line.npos && end != line.npos;
  add(PageBlock::fold, titled ? line.substr(begin + 9, end - begin - 9) : "");
}

/// \verbinclude, \dontinclude and what takes lines from that file.
void PageReader::quoted(const std::string& line) {
  const std::string what = line.substr(0, line.find(' ')), text = argument(line);
  const std::filesystem::path own = lesson_.page.parent_path(), lessons = own.parent_path(),
                              source = lessons.parent_path();
  const auto show_if_there = [&](const std::filesystem::path& file) {
    if (exists(file))
      for (const std::string& l : lines_of(read_text(file))) add_code(l);
  };
  const auto holds = [&] { return quoted_[quoted_at_].find(text) != std::string::npos; };
  if (what == "\\verbinclude")
    show_if_there(text == own.filename().string() + ".txt" ? own / "expected.txt" : lessons / text);
  if (what == "\\include") show_if_there(lessons / text);
  if (what == "\\dontinclude") {
    quoted_at_ = 0, quoted_.clear();
    for (const std::filesystem::path& file : {lessons / text, source / text, source / "lib" / text})
      if (quoted_.empty() && exists(file)) quoted_ = lines_of(read_text(file));
  }
  if (what == "\\skip" || what == "\\skipline")
    while (quoted_at_ < quoted_.size() && !holds()) ++quoted_at_;
  if (what == "\\skipline" && quoted_at_ < quoted_.size()) add_code(quoted_[quoted_at_++]);
  for (bool last = what != "\\until"; !last && quoted_at_ < quoted_.size(); ++quoted_at_) {
    last = holds();
    add_code(quoted_[quoted_at_]);
  }
  if (what == "\\htmlinclude") add(PageBlock::drawing, text);
  if (what == "\\image") add(PageBlock::picture, argument(text).substr(0, argument(text).find(' ')));
}

void PageReader::paragraph() {
  const PageBlock::Kind kind = is_item() ? PageBlock::item : PageBlock::paragraph;
  std::string text;
  do {
    text += page_[at_++] + " ";
  } while (at_ < page_.size() && !page_[at_].empty() && !is_item() && !begins("|") && !begins("```") &&
           !begins("<details>") && !begins("</details>") && !is_command());
  text.pop_back();
  add(kind, text);
}

std::string PageReader::text_to(const char* end, bool with_end) {
  std::string text;
  while (at_ < page_.size() && page_[at_].find(end) == std::string::npos) text += page_[at_++] + "\n";
  if (with_end && at_ < page_.size()) text += page_[at_] + "\n";
  ++at_;
  return text;
}

}  // namespace

std::vector<PageBlock> page_blocks(const Lesson& lesson) { return PageReader(lesson).blocks(); }

}  // namespace rungs
