// rungs profile 17: the memory transactions of each line of a lesson's kernels.
#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "check.hpp"
#include "commands.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/shell.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/units.hpp"
#include "show/memory_picture.hpp"
#include "within_time.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// What a runner writes into `file` for a case, with these variables; null when it does not come to its end.
json measured(const std::string& variables, const fs::path& runner, const Lesson& lesson, const Case& c,
              const fs::path& file) {
  fs::remove(file);
  const std::string one =
      fmt::format("{} --case {}", shell_word(runner.string()), shell_word((lesson.references / c.input.name).string()));
  const std::string command =
      fmt::format("ulimit -c 0; {}={} {} >/dev/null 2>&1", variables, shell_word(file.string()), within_time(one));
  std::ignore = std::system(command.c_str());  // a wrong answer is counted too
  return fs::exists(file) ? json::parse(read_text(file)) : json();
}

/// A line of code without its indent, and not too long for a table.
std::string shown(const std::string& line, size_t most) {
  const std::string code = line.substr(std::min(line.size(), line.find_first_not_of(' ')));
  if (code.size() <= most) return code;
  size_t end = most - 4;
  while ((code[end] & 0xC0) == 0x80) --end;  // not in the middle of a character
  return code.substr(0, end) + " ...";
}

std::vector<std::string> lines_of(const fs::path& file, size_t most = 64) {
  std::istringstream text(read_text(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(shown(line, most));
  return lines;
}

/// The counter calls a file by its folder and its name: there is a solution.cu in every lesson.
bool is_called(const std::string& name, const fs::path& file) {
  return fs::path(name) == file.parent_path().filename() / file.filename();
}

void print_table(const json& counts, const fs::path& code) {
  const std::vector<std::string> source = lines_of(code);
  fmt::print("  {:>4}  {:<7}{:<7}{:>6}{:>10}{:>21}{:>8}\n", "line", "memory", "does", "bytes", "requests",
             "for each request", "ideal");
  for (const json& row : counts) {
    const std::string file = row.at("file");
    const int line = row.at("line");
    const bool shared = row.at("memory") == "shared", mine = is_called(file, code);
    const double requests = std::max(row.at("requests").get<double>(), 1.0);
    const double cost = row.at(shared ? "waves" : "sectors").get<double>() / requests;
    const std::string numbers = fmt::format("{:>6}{:>10}{:>13.2f} {:<7}{:>8.2f}", row.at("access_bytes").get<int>(),
                                            row.at("requests").get<int64_t>(), cost, shared ? "waves" : "sectors",
                                            row.at("ideal").get<double>() / requests);
    const bool wasteful = row.at("wasteful");
    const std::string text =
        fmt::format("  {:>4}  {:<7}{:<7}{}{}  {}", line, std::string(row.at("memory")), std::string(row.at("access")),
                    numbers, wasteful ? " <--" : "    ",
                    mine && size_t(line) <= source.size() && line > 0 ? source[size_t(line - 1)] : file);
    fmt::print("{}\n",
               wasteful && wants_colour(stdout) ? fmt::format(fmt::fg(fmt::terminal_color::yellow), "{}", text) : text);
  }
}

/// What was counted on one line of the lesson's file, whichever functions ran it.
struct SourceLine {
  uint64_t waste = 0, cost = 0;       ///< of all its requests: cost, and how much of it is above the ideal
  std::vector<WarpRequest> requests;  ///< for each way in which it accesses memory, the costliest
};

std::map<int, SourceLine> lines_counted(const json& functions, const fs::path& code) {
  std::map<int, SourceLine> lines;
  for (const json& function : functions)
    for (const json& row : function.at("lines")) {
      if (!is_called(row.at("file"), code)) continue;
      const bool shared = row.at("memory") == "shared";
      const json& costliest = row.at("costliest");
      const WarpRequest r{row.at("line"),         row.at("access"),     shared,
                          row.at("access_bytes"), costliest.at("cost"), costliest.at("ideal"),
                          costliest.at("offset")};
      SourceLine& line = lines[r.line];
      const uint64_t cost = row.at(shared ? "waves" : "sectors");
      line.cost += cost, line.waste += cost - std::min(cost, row.at("ideal").get<uint64_t>());
      const auto same = [&](const WarpRequest& o) {
        return o.access == r.access && o.shared == r.shared && o.access_bytes == r.access_bytes;
      };
      const auto known = std::find_if(line.requests.begin(), line.requests.end(), same);
      if (known == line.requests.end())
        line.requests.push_back(r);
      else if (r.cost > known->cost)
        *known = r;
    }
  return lines;
}

/// Draws the line that was asked for, or the one that wastes most, into command.svg.
void draw_line(const ProfileCommand& command, const Lesson& lesson, const json& functions, const fs::path& code) {
  const std::map<int, SourceLine> lines = lines_counted(functions, code);
  std::string numbers;
  for (const auto& [number, line] : lines) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number);
  if (lines.empty()) throw Error(fmt::format("{}: no access to memory was counted", short_path(code)));
  auto found = lines.find(command.line);
  if (command.line == 0)
    found = std::max_element(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.waste, a.second.cost) < std::pair(b.second.waste, b.second.cost);
    });
  if (found == lines.end())
    throw UsageError(fmt::format("--line {}: no access to memory was counted on that line of {}; there are some on {}",
                                 command.line, short_path(code), numbers));
  const std::string svg =
      memory_svg(lesson.name, lines_of(code, 96).at(size_t(found->first - 1)), found->second.requests);
  write_whole(command.svg, [&](std::ostream& out) { out << svg; });
  if (!command.nothing_built)
    fmt::print("{}: line {} of {}{}\n", command.svg, found->first, short_path(code),
               command.line ? "" : ", which wastes most; --line N draws another: " + numbers);
}

/// Builds it. \throws UsageError where it cannot be built or run
fs::path runner_on_gpu(Lesson lesson, bool written) {
  if (!written) lesson.mine = lesson.solution;
  require_place(lesson, "gpu");
  if (!build_mine(lesson, "gpu").ok)
    throw Error(fmt::format("{} does not compile with nvcc: `./rungs check {} --on gpu` shows why",
                            short_path(lesson.mine), lesson.short_name()));
  return lesson.mine_runner;
}

/// What a function takes on a GPU, and what share of the speed of a copy its sectors of global memory amount to.
void print_times(const json& times, const json& counts) {
  if (times.is_null()) {
    fmt::print("  on the GPU it does not come to its end\n");
    return;
  }
  uint64_t bytes = 0;
  for (const json& row : counts)
    if (row.at("memory") == "global") bytes += 32 * row.at("sectors").get<uint64_t>();
  const double seconds = times.at("seconds"), copy = times.at("copy");
  const int launches = times.at("launches");
  if (launches == 0)
    fmt::print("  on {}: every launch is recorded into a graph, which is not timed\n", std::string(times.at("device")));
  else
    fmt::print("  on {}: {:.1f} us, {} launch{}; {} of sectors, {:.1f}% of the speed of a copy ({:.0f} GB/s)\n",
               std::string(times.at("device")), 1e6 * seconds, launches, launches == 1 ? "" : "es",
               in_units(int64_t(bytes)), 100 * double(bytes) / seconds / copy, copy / 1e9);
}

}  // namespace

int profile_lesson(const ProfileCommand& command) {
  if (command.line != 0 && command.svg.empty())
    throw UsageError("--line says what to draw: ./rungs profile 17 --svg FILE --line 84");
  Lesson lesson = lesson_called(command.lesson);
  if (!lesson.has_kernels())
    throw UsageError(
        fmt::format("{} has no kernels; `./rungs profile` is for the lessons about CUDA, from 16 on", lesson.name));
  const bool written = fs::exists(lesson.mine) && !command.solution;
  if (!written && !command.nothing_built) must_build({lesson.name + "_solution"});
  if (written && !build_mine(lesson).ok)
    throw Error(
        fmt::format("{} does not compile: `./rungs check {}` shows why", short_path(lesson.mine), lesson.short_name()));
  fs::path on_gpu;  // the runner of what nvcc makes of the same file
  if (command.on == "gpu") on_gpu = runner_on_gpu(lesson, written);
  const fs::path code = written ? lesson.mine : lesson.solution;
  const fs::path runner = written ? lesson.mine_runner : lesson.solution_runner;
  const fs::path file =
      command.svg.empty() ? fs::path(RUNGS_BINARY_DIR) / "counts.json" : fs::path(command.svg + ".counts");
  const bool silent = command.json || !command.svg.empty();

  json functions = json::array();
  bool all = true;
  if (!silent) fmt::print("{}  profile{:>{}}\n", lesson.name, short_path(code), 70 - lesson.name.size());
  for (const Case& c : largest_cases_of(lesson)) {
    const json counts = measured("RUNGS_COUNT=1 RUNGS_COUNTS", runner, lesson, c, file);
    const json times = on_gpu.empty() ? json() : measured("RUNGS_TIMES", on_gpu, lesson, c, file);
    all = all && !counts.is_null() && (on_gpu.empty() || !times.is_null());
    functions.push_back({{"function", c.input.run}, {"case", c.input.name}, {"lines", counts}});
    if (!on_gpu.empty()) functions.back()["gpu"] = times;
    if (silent) continue;
    fmt::print("\n{}, on the case {}\n", c.input.run, c.input.name);
    if (counts.is_null())
      fmt::print("  does not come to its end: `./rungs check {}` says why\n", lesson.short_name());
    else
      print_table(counts, code);
    if (!on_gpu.empty()) print_times(times, counts);
  }
  fs::remove(file);
  if (!command.svg.empty())
    draw_line(command, lesson, functions, code);
  else if (command.json)
    fmt::print("{}\n", pretty(json{{"lesson", lesson.name}, {"code", short_path(code)}, {"functions", functions}}));
  else
    fmt::print(
        "\nA request is what the 32 threads of a warp ask for at once. A sector is 32 bytes of global memory; a wave "
        "is\n"
        "one pass through the 32 banks of shared memory. Ideal: the fewest for these bytes. <--: more than 1.5 times "
        "that.\n");
  if (!silent && !on_gpu.empty())
    fmt::print(
        "Times are medians of 21 runs between two events. The cases are small: some microseconds are those of a "
        "launch, "
        "and\nbytes that a cache has kept are counted again.\n");
  return all ? 0 : 1;
}

}  // namespace rungs
