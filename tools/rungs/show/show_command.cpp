// rungs show: which drawing it is, and where it goes.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "../workspace.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/units.hpp"
#include "show.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

/// Columns of the terminal; of what is none, COLUMNS or 80.
int terminal_columns() {
  winsize size{};
  int columns = 0;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (const char* said = std::getenv("COLUMNS"); columns == 0 && said) columns = std::atoi(said);
  return columns == 0 ? 80 : std::clamp(columns, narrowest, 400);
}

/// What cannot be asked for together, or not at all.
void check(const ShowCommand& command) {
  const bool model = !command.model.empty();
  if (model == !command.lesson.empty())
    throw UsageError(
        "show: wanted a lesson (./rungs show 06) or a model (./rungs show --model weights/stories), found " +
        std::string(model ? "both" : "neither"));
  if (model && (command.mine || command.diff))
    throw UsageError("--mine and --diff are about a lesson: ./rungs show 06 --diff");
  if (!command.tap.empty() && !command.diff)
    throw UsageError("--tap is part of --diff: ./rungs show 06 --diff --tap weights");
  if (command.diff && command.text)
    throw UsageError("--diff draws the case that failed, which has its own input: leave --text out");
}

Drawing draw(const ShowCommand& command) {
  if (!command.model.empty()) return draw_model(command);
  return command.diff ? draw_difference(command) : draw_lesson(command);
}

}  // namespace

Candidate built_candidate(Lesson& lesson, bool mine, bool build_it) {
  const std::string number = lesson.short_name();
  if (!mine) {
    const bool source = fs::exists(lesson.solution);  // a course's handout has none
    if (!source && !fs::exists(lesson.solution_runner))
      throw UsageError(fmt::format("there is no solution of {} here; `./rungs show {} --mine` draws from your file",
                                   lesson.name, number));
    if (source && build_it) must_build({lesson.name + "_solution"});
    return solution(lesson);
  }
  if (!fs::exists(lesson.mine))
    throw UsageError(fmt::format("{} is not there; `./rungs start {}` makes it", short_path(lesson.mine), number));
  stand_on_own_files(lesson);
  write_include(lesson.name + ".cpp", lesson.mine);
  if (!build({lesson.name + "_mine"}).ok)
    throw UsageError(fmt::format("{} does not compile; `./rungs check {}` shows why", short_path(lesson.mine), number));
  return rungs::mine(lesson);
}

int show(const ShowCommand& command) {
  check(command);
  const Drawing drawing = draw(command);
  if (!command.html.empty()) {
    const std::string page = command.fragment ? to_fragment(drawing) : to_page(drawing);
    write_whole(command.html, [&](std::ostream& out) { out << page; });
    if (!command.fragment && !command.json)
      fmt::print("{}: {}, for a browser; drawn from {}\n", command.html, in_units(int64_t(page.size())),
                 drawing.drawn_from);
  }
  if (command.json)
    fmt::print("{}", to_json(drawing));
  else if (command.html.empty())
    fmt::print("{}", to_text(drawing, {terminal_columns(), wants_colour(stdout)}));
  return 0;
}

}  // namespace rungs
