// list, run, start, reset: what a learner types beside check and grade.
#include <fmt/color.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "blank.hpp"
#include "check.hpp"
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

/// Builds the lesson's program on the learner's file.
static fs::path build_yours(const Lesson& lesson, const std::string& on) {
  if (!fs::exists(lesson.mine)) throw UsageError(nothing_there(lesson));
  if (on != "emulator") require_place(lesson, on);
  stand_on_own_files(lesson);
  write_include(lesson.name + ".cpp", lesson.mine);
  const std::string kind = on == "emulator" ? "_yours" : "_yours_" + on;
  if (const Build b = build({lesson.name + kind}); !b.ok)
    throw Error(fmt::format("{} does not become the lesson's program; `{} check {}` shows why", short_path(lesson.mine),
                            typed(), lesson.short_name()));
  return lesson.program.string() + kind;
}

int run_lesson(const RunCommand& command) {
  const Lesson lesson = lesson_called(command.lesson);
  const bool passed = standing_of(lesson) == Standing::passed,
             yours = command.mine || (passed && !command.solution) || !lesson.has_solution();
  if (command.solution && !lesson.has_solution())
    throw UsageError(fmt::format("this copy of Rungs is a handout, without the solution of {}", lesson.name));
  if (command.on != "emulator" && !yours)
    throw UsageError(fmt::format("--on {} runs your file, which has not passed: add --mine", command.on));
  fs::path program = lesson.program;
  if (yours)
    program = build_yours(lesson, command.on);
  else
    must_build({lesson.name});
  if (yours)
    fmt::print(stderr, "Your code runs: {}{}.\n", short_path(lesson.mine), passed ? "" : ", which has not passed");
  else
    fmt::print(stderr, "The solution's code runs{}.\n",
               passed || !fs::exists(lesson.mine) ? "" : "; yours does when it has passed, or with --mine");
  std::fflush(stdout);
  const int status = std::system(("'" + program.string() + "'").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
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
  fmt::print("  read    {}\n          {}\n", short_path(lesson.source / "walkthrough.md"),
             short_path(lesson.source / "lesson.hpp"));
  fmt::print(
      "  see     {1} run {0}\n  check   {1} check {0}\n  or      {1} watch {0}, which checks whenever you save\n",
      number, typed());
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
