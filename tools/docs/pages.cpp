#include <fmt/format.h>

#include <regex>
#include <set>
#include <sstream>

#include "check_docs.hpp"
#include "rungs/base/file.hpp"

namespace {

/// A Markdown page, without its code.
struct Page {
  std::vector<std::string> lines;
  std::vector<std::string> headings;  // without # and {#id}
  std::vector<std::string> without_id;
  int open_fence = 0;  // the line of a code fence that does not end
};

Page read_page(const Path& path) {
  Page page;
  std::istringstream text(rungs::read_text(path));
  static const std::regex heading(R"(^#+ +(.*?) *(\{#[a-z0-9_]+\})?$)"), fence(R"(^ *(```|~~~))");
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (std::regex_search(line, fence))
      page.open_fence = page.open_fence ? 0 : number;
    else if (!page.open_fence) {
      page.lines.push_back(line);
      if (std::smatch found; std::regex_match(line, found, heading)) {
        page.headings.push_back(found[1]);
        if (!found[2].matched) page.without_id.push_back(found[1]);
      }
    }
  }
  return page;
}

void check_lesson_page(const rungs::Lesson& lesson, bool is_first, bool is_last, Problems& problems) {
  const std::string name = fmt::format("lessons/{}/walkthrough.md", lesson.name);
  const auto problem = [&](const std::string& says) { problems.push_back(name + says); };
  const Path path = lesson.source / "walkthrough.md";
  if (!std::filesystem::exists(path)) return problem(" is missing");
  const Page page = read_page(path);
  if (page.open_fence) problem(fmt::format(":{}: a code fence begins and does not end", page.open_fence));

  const std::set<std::string> headings(page.headings.begin(), page.headings.end());
  const std::string title =
      fmt::format("Lesson {}{}: {}", lesson.number(), lesson.short_name().substr(2), lesson.title);
  if (page.headings.empty() || page.headings[0] != title) problem(": its title must be \"" + title + '"');
  for (const std::string& heading : page.without_id) problem(": the heading \"" + heading + "\" has no {#id}");

  std::vector<std::string> wanted{
      "Shapes", "What the program prints", "What you write", "Hints", "Known mistakes", "Try it", "Grade it"};
  if (!is_first) wanted.push_back("The difference from the previous lesson");
  for (const std::string& heading : wanted)
    if (!headings.count(heading)) problem(fmt::format(": there is no heading \"{}\"", heading));
  std::set<std::string> to_read;
  for (const rungs::KnownMistake& mistake : lesson.mistakes)
    if (!headings.count(mistake.read) && to_read.insert(mistake.read).second)
      problem(fmt::format(": the known mistake {} says to read \"{}\", and no heading is called so", mistake.name,
                          mistake.read));

  std::vector<std::string> parts{"**Goal.**", "\\verbinclude " + lesson.name + ".txt", "Hint 1", "Hint 2", "Hint 3"};
  parts.insert(parts.end(), {"**1.** ", "**2.** ", "**3.** "});  // experiments
  if (!is_first) parts.insert(parts.end(), {"\\htmlinclude " + lesson.name + "_diff.html", "Previous: @ref"});
  if (!is_last) parts.push_back("Next: @ref");
  for (const std::string& part : parts) {
    const auto holds = [&](const std::string& line) { return line.find(part) != line.npos; };
    if (std::none_of(page.lines.begin(), page.lines.end(), holds)) problem(fmt::format(": there is no {}", part));
  }
}

}  // namespace

void check_stretches(const std::vector<rungs::Lesson>& stretches, Problems& problems) {
  for (const rungs::Lesson& stretch : stretches) {
    const Page page = read_page(stretch.page);
    const std::set<std::string> headings(page.headings.begin(), page.headings.end());
    for (const rungs::KnownMistake& mistake : stretch.mistakes)
      if (!headings.count(mistake.read))
        problems.push_back(
            fmt::format("{}: the known mistake {} of {} says to read \"{}\", and no heading is called so",
                        stretch.page.string(), mistake.name, stretch.name, mistake.read));
    const std::string start = fmt::format("start {} --stretch", stretch.name.substr(0, 2));
    if (std::none_of(page.lines.begin(), page.lines.end(), [&](const auto& l) { return l.find(start) != l.npos; }))
      problems.push_back(fmt::format("{}: there is no \"{}\"", stretch.page.string(), start));
  }
}

void check_lesson_pages(const std::vector<rungs::Lesson>& lessons, Problems& problems) {
  for (size_t i = 0; i < lessons.size(); ++i) check_lesson_page(lessons[i], i == 0, i + 1 == lessons.size(), problems);
}

void check_leftovers(const Path& site, Problems& problems) {
  static const std::vector<std::pair<std::regex, const char*>> leftovers{
      {std::regex(R"(!\[[^\]]*\])"), "an image that is not drawn"},
      {std::regex(R"(\]\([a-zA-Z0-9_./#:-]+\))"), "a link that is not one"},
      {std::regex("```|~~~"), "a code fence that does not end"},
      {std::regex(R"(\|[ :]*--)"), "a table that is not one"},
      {std::regex(R"(\\f[$\[\]{}(])"), "a formula that is not closed"},
      {std::regex(
           R"([@\\](ref|dot|enddot|dotfile|subpage|skip|until|line|include|dontinclude|verbinclude|htmlinclude)\b)"),
       "a command that is not obeyed"},
      {std::regex(R"(\{#[a-z0-9_]+\})"), "an anchor that is not one"},
      {std::regex(R"(\*\*[A-Za-z]|\*\*$)"), "bold text that is not (none begins with code)"},
      {std::regex("`|&lsquo;"), "code that ends at a quotation mark within it (write it between double backticks)"},
  };
  for (const Path& file : files_below(site, {".html"}))
    read_html(
        rungs::read_text(file), [](const Tag&) {},
        [&](std::string_view text, bool in_code) {
          if (in_code) return;
          for (const auto& [expression, what] : leftovers)
            if (std::cmatch found; std::regex_search(text.begin(), text.end(), found, expression))
              problems.push_back(fmt::format("{}: {}: {}", file.filename().string(), what,
                                             std::string(found[0].first, std::min(found[0].first + 60, text.end()))));
        });
}
