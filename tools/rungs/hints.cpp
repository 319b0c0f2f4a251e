// hint: the page's hints, one at a time.
#include "hints.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "commands.hpp"
#include "fold.hpp"
#include "keyboard.hpp"
#include "page.hpp"
#include "rungs/base/shell.hpp"
#include "rungs/base/terminal.hpp"
#include "workspace.hpp"

namespace rungs {

static std::string one_hint(const Hint& hint, bool colour) {
  return plain_words("**" + hint.title + "**", colour) + "\n" + plain_words(hint.text, colour) + "\n";
}

std::string next_hint(const Lesson& lesson, bool colour) {
  const std::vector<Hint> hints = hints_of(lesson);
  if (hints.empty()) return "The page of this lesson has no hints.\n";
  const size_t read = std::min(hints_read(lesson), hints.size());
  if (read == hints.size())
    return one_hint(hints.back(), colour) +
           fmt::format("That is the last hint; `{} read {}` shows the page.\n", typed(), lesson.short_name());
  note_hints_read(lesson, read + 1);
  const std::string left =
      read + 1 < hints.size() ? fmt::format("{} of {} hints.\n", read + 1, hints.size()) : std::string();
  return one_hint(hints[read], colour) + left;
}

std::string difference_from_previous(const Lesson& lesson) {
  for (const Lesson& before : all_lessons()) {
    if (before.is_between() || before.number() != lesson.number() - (lesson.is_between() ? 0 : 1)) continue;
    if (!std::filesystem::exists(before.mine) || !std::filesystem::exists(lesson.mine)) return "";
    return run_command(fmt::format("diff -u {} {}", shell_word(before.mine), shell_word(lesson.mine))).output;
  }
  return "";
}

int hint_lesson(const HintCommand& command) {
  const Lesson lesson = lesson_or_last(command.lesson);
  const bool colour = wants_colour(stdout);
  std::string text;
  if (command.all) {
    for (const Hint& hint : hints_of(lesson)) text += one_hint(hint, colour) + "\n";
    note_hints_read(lesson, hints_of(lesson).size());
  } else {
    text = next_hint(lesson, colour);
  }
  for (const std::string& line : folded(text, std::min<size_t>(100, screen_size().columns))) fmt::print("{}\n", line);
  return 0;
}

}  // namespace rungs
