// read: the page of a lesson.
#include <fmt/format.h>

#include "commands.hpp"
#include "keyboard.hpp"
#include "page.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/units.hpp"
#include "workspace.hpp"

namespace rungs {

int read_lesson(const ReadCommand& command) {
  const Lesson lesson = lesson_or_last(command.lesson);
  if (!command.html.empty()) {
    const std::string page = page_html(lesson);
    write_whole(command.html, [&](std::ostream& out) { out << page; });
    fmt::print("{}: {}, for a browser\n", command.html, in_units(int64_t(page.size())));
    return 0;
  }
  if (!command.in_terminal && is_terminal(stdout) && has_browser()) {
    const std::filesystem::path page = browser_page(lesson);
    if (open_in_browser(page)) {
      fmt::print("{} is open in the browser.\n", short_path(page));
      return 0;
    }
  }
  const std::string text = page_text(lesson, screen_size().columns, wants_colour(stdout));
  if (!is_terminal(stdout) || !show_in_pager(text)) fmt::print("{}", text);
  return 0;
}

}  // namespace rungs
