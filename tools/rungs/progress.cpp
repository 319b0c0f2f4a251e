// progress: how far a learner is, and what is next.
#include <fmt/color.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "keyboard.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "workspace.hpp"

namespace rungs {

using nlohmann::json;

namespace {

struct LessonProgress {
  Lesson lesson;
  Standing standing;
  size_t hints;
};

/// What a learner types next: to check the first that they have begun, or to start the first that they have not.
std::string next_step(const std::vector<LessonProgress>& all) {
  for (const LessonProgress& p : all)
    if (p.standing == Standing::started || p.standing == Standing::changed)
      return fmt::format("{} watch {}", typed(), p.lesson.short_name());
  for (const LessonProgress& p : all)
    if (p.standing == Standing::not_started) return fmt::format("{} start {}", typed(), p.lesson.short_name());
  return "";
}

/// A cell for each lesson: passed, begun, not begun.
std::string bar(const std::vector<LessonProgress>& all, bool colour) {
  std::string cells;
  for (const LessonProgress& p : all) {
    const bool passed = p.standing == Standing::passed, begun = !passed && p.standing != Standing::not_started;
    const std::string cell = passed ? "█" : begun ? "▒" : "░";
    const auto style = fmt::fg(passed ? fmt::terminal_color::green : fmt::terminal_color::yellow);
    cells += colour && (passed || begun) ? fmt::format(style, "{}", cell) : cell;
  }
  return cells;
}

void print(const LessonProgress& p, size_t columns) {
  static constexpr const char* states[] = {"", "started", "passed", "changed since it passed"};
  std::string state = states[int(p.standing)];
  if (p.hints > 0) state += fmt::format("{}{} hint{} read", state.empty() ? "" : ", ", p.hints, p.hints > 1 ? "s" : "");
  if (state.empty() && columns < 60) return;  // a narrow screen shows what was begun
  fmt::print("  {:<20}{}\n", p.lesson.name, state.empty() ? "-" : state);
}

}  // namespace

int show_progress(bool as_json) {
  std::vector<LessonProgress> all;
  size_t passed = 0;
  for (const Lesson& l : all_lessons()) {
    all.push_back({l, standing_of(l), hints_read(l)});
    passed += all.back().standing == Standing::passed;
  }
  const std::string next = next_step(all);
  if (as_json) {
    static constexpr const char* states[] = {"not started", "started", "passed", "changed since it passed"};
    json lessons = json::array();
    for (const LessonProgress& p : all)
      lessons.push_back({{"lesson", p.lesson.name}, {"state", states[int(p.standing)]}, {"hints_read", p.hints}});
    fmt::print("{}\n", pretty(json{{"passed", passed}, {"total", all.size()}, {"next", next}, {"lessons", lessons}}));
    return 0;
  }
  fmt::print("{}  {} of {} passed\n\n", bar(all, wants_colour(stdout)), passed, all.size());
  for (const LessonProgress& p : all) print(p, screen_size().columns);
  fmt::print("\n{}\n", next.empty() ? "All lessons passed." : "Next: " + next);
  return 0;
}

}  // namespace rungs
