// read: the page of a lesson.
#include <fmt/format.h>

#include "commands.hpp"
#include "keyboard.hpp"
#include "page.hpp"
#include "rungs/base/terminal.hpp"
#include "workspace.hpp"

namespace rungs {

int read_lesson(const std::string& word) {
  const Lesson lesson = lesson_or_last(word);
  const std::filesystem::path site = site_page(lesson);
  if (is_terminal(stdout) && !site.empty() && open_in_browser(site)) {
    fmt::print("{} is open in the browser.\n", short_path(site));
    return 0;
  }
  const std::string text = page_text(lesson, screen_size().columns, wants_colour(stdout));
  if (!is_terminal(stdout) || !show_in_pager(text)) fmt::print("{}", text);
  return 0;
}

}  // namespace rungs
