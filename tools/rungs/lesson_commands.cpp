// list, start, reset: what a learner types beside check and grade.
#include <fmt/color.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "blank.hpp"
#include "commands.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

static std::string state_of(const Lesson& lesson) {
  constexpr const char* names[] = {"", "started", "passed", "changed since it passed"};
  return names[int(standing_of(lesson))];
}

int list_lessons(bool as_json) {
  json list = json::array();
  size_t passed = 0;
  const std::vector<Lesson> lessons = all_lessons();
  if (!as_json) fmt::print("{:<20}{:<72}{}\n", "lesson", "what it adds", "yours");
  for (const Lesson& l : lessons) {
    const std::string state = state_of(l);
    passed += state == "passed";
    list.push_back({{"lesson", l.name},
                    {"adds", l.title},
                    {"builds_on", l.builds_on},
                    {"state", state.empty() ? "not started" : state}});
    if (as_json) continue;
    const auto colour = fmt::fg(state == "passed" ? fmt::terminal_color::green : fmt::terminal_color::yellow);
    fmt::print("{:<20}{:<72}{}\n", l.name, l.title, wants_colour(stdout) ? fmt::format(colour, "{}", state) : state);
  }
  if (as_json) {
    fmt::print("{}\n", pretty(list));
    return 0;
  }
  fmt::print("\n{} of {} passed.", passed, lessons.size());
  for (const Lesson& l : lessons) {
    const std::string state = state_of(l);
    if (state == "passed") continue;
    fmt::print(" Next: {} {} {}", typed(), state.empty() ? "start" : "check", l.short_name());
    break;
  }
  fmt::print("\n");
  return 0;
}

void copy_starter(const Lesson& lesson, bool signatures) {
  must_build({lesson.name + "_made"});
  fs::create_directories(lesson.mine.parent_path());
  const std::string starter = read_text(lesson.starter), text = signatures ? blank(starter) : starter;
  write_whole(lesson.mine, [&](std::ostream& out) { out << text; });
}

fs::path put_starter_back(const Lesson& lesson) {
  must_build({lesson.name + "_made"});  // before anything of the learner's moves
  fs::path kept = lesson.mine;
  for (int n = 1; fs::exists(kept); ++n)
    kept = lesson.mine.parent_path() / fmt::format("{}.before_reset_{}{}", lesson.name, n, lesson.ending);
  fs::rename(lesson.mine, kept);
  copy_starter(lesson);
  note_progress(lesson, false);
  return kept;
}

int start_lesson(const std::string& word, bool blank) {
  const Lesson lesson = lesson_called(word);
  const std::string number = lesson.short_name();
  if (fs::exists(lesson.mine))
    throw UsageError(fmt::format("{0} is already there; `{2} check {1}` grades it, `{2} reset {1}` begins anew",
                                 short_path(lesson.mine), number, typed()));
  copy_starter(lesson, blank);
  fmt::print("{}: {}.\n\n", lesson.name, lesson.title);
  fmt::print("  write   {}\n", short_path(lesson.mine));
  fmt::print("  read    {}{}\n          {}\n", short_path(lesson.page),
             lesson.is_stretch() ? ", its last sections" : "", short_path(lesson.source / "lesson.hpp"));
  if (!lesson.is_stretch()) fmt::print("  see     {} run {}\n", typed(), number);
  fmt::print("  check   {1} check {0}\n  or      {1} watch {0}, which checks whenever you save\n", number, typed());
  return 0;
}

int reset_lesson(const std::string& word) {
  const Lesson lesson = lesson_called(word);
  if (!fs::exists(lesson.mine)) throw UsageError(nothing_there(lesson));
  fmt::print("{} is the starter again; what you had is in {}\n", short_path(lesson.mine),
             short_path(put_starter_back(lesson)));
  return 0;
}

}  // namespace rungs
