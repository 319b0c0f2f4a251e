// check: build the learner's file, grade it, and say what is wrong with it.
#include "check.hpp"

#include <fmt/format.h>

#include <chrono>

#include "commands.hpp"
#include "compiler_output.hpp"
#include "rungs/base/terminal.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

/// What is said of a file that does not become a program.
std::string build_error(const Lesson& lesson, const std::string& output, bool brief) {
  const std::string file = short_path(lesson.mine);
  if (const std::string missing = missing_functions(output); !missing.empty())
    return fmt::format("{} lacks a function that lesson.hpp declares:\n{}", file, missing);
  if (brief) return fmt::format("{}\n{} does not compile.\n", first_error(output, lesson.mine, file), file);
  return fmt::format("{}\n{} does not compile; the first error above is the one to look at.\n", compiler_output(output),
                     file);
}

}  // namespace

Checked check_file(Lesson& lesson, bool colour, bool brief) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const Build b = build_mine(lesson);
  const double built = seconds();
  if (!b.ok) return {false, build_error(lesson, b.output, brief), built, 0};
  Grade last = grade(lesson, Suite::evaluate, mine(lesson));
  std::string text = warnings(b.output) + screen(last, colour);
  if (last.all_passed() && lesson.has_cache()) {
    last = grade(lesson, Suite::kv_evaluate, mine(lesson));
    text += "\n" + screen(last, colour);
  }
  note_progress(lesson, last.all_passed());
  return {last.all_passed(), text, built, seconds() - built};
}

int check_lesson(const std::string& word) {
  Lesson lesson = lesson_or_last(word);
  if (!fs::exists(lesson.mine)) throw UsageError("there is nothing to check: " + nothing_there(lesson));
  const Checked checked = check_file(lesson, wants_colour(stdout));
  fmt::print("{}", checked.text);
  if (!checked.passed) return 1;

  fmt::print("\nPassed. Compare yours with {}.", short_path(lesson.solution));
  for (const Lesson& next : all_lessons())
    if (next.number() == lesson.number() + 1) fmt::print(" Next: {} start {}", typed(), next.name.substr(0, 2));
  fmt::print("\n");
  return 0;
}

}  // namespace rungs
