// rungs profile 17: the memory transactions of each line of a lesson's kernels.
#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Of each function that a lesson's cases run, in their order, the case with the most numbers: it fills the tiles.
std::vector<Case> cases_to_count(const Lesson& lesson) {
  const auto size_of = [](const Case& c) {
    int64_t count = 0;
    for (const auto& [name, tensor] : c.input.in) count += tensor.count();
    for (const Reference& r : c.references) count += r.value.count();
    return count;
  };
  std::vector<Case> largest;
  for (Case& c : cases_of(lesson, Suite::evaluate)) {
    const auto same = [&](const Case& other) { return other.input.run == c.input.run; };
    const auto known = std::find_if(largest.begin(), largest.end(), same);
    if (!c.error.empty()) continue;
    if (known == largest.end())
      largest.push_back(std::move(c));
    else if (size_of(c) > size_of(*known))
      *known = std::move(c);
  }
  return largest;
}

/// What a runner counts on a case; null when it does not come to its end.
json counts_of(const fs::path& runner, const Lesson& lesson, const Case& c, const fs::path& file) {
  fs::remove(file);
  const std::string command =
      fmt::format("ulimit -c 0; RUNGS_COUNT=1 RUNGS_COUNTS='{}' timeout 60 '{}' --case '{}' >/dev/null 2>&1",
                  file.string(), runner.string(), (lesson.references / c.input.name).string());
  std::ignore = std::system(command.c_str());  // a wrong answer is counted too
  return fs::exists(file) ? json::parse(read_text(file)) : json();
}

/// A line of code without its indent, and not too long for a table.
std::string shown(const std::string& line) {
  constexpr size_t most = 64;
  const std::string code = line.substr(std::min(line.size(), line.find_first_not_of(' ')));
  if (code.size() <= most) return code;
  size_t end = most - 4;
  while ((code[end] & 0xC0) == 0x80) --end;  // not in the middle of a character
  return code.substr(0, end) + " ...";
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::istringstream text(read_text(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(shown(line));
  return lines;
}

void print_table(const json& counts, const fs::path& code) {
  const std::vector<std::string> source = lines_of(code);
  fmt::print("  {:>4}  {:<7}{:<7}{:>6}{:>10}{:>21}{:>8}\n", "line", "memory", "does", "bytes", "requests",
             "for each request", "ideal");
  for (const json& row : counts) {
    const std::string file = row.at("file");
    const int line = row.at("line");
    const bool shared = row.at("memory") == "shared", mine = fs::path(file).filename() == code.filename();
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

}  // namespace

int profile_lesson(const ProfileCommand& command) {
  Lesson lesson = lesson_called(command.lesson);
  if (!lesson.has_kernels())
    throw UsageError(
        fmt::format("{} has no kernels; `rungs profile` is for the lessons about CUDA, from 16 on", lesson.name));
  const bool written = fs::exists(lesson.mine);
  if (!written) must_build({lesson.name + "_solution"});
  if (written && !build_mine(lesson).ok)
    throw Error(
        fmt::format("{} does not compile: `rungs check {}` shows why", short_path(lesson.mine), lesson.short_name()));
  const fs::path code = written ? lesson.mine : lesson.solution;
  const fs::path runner = written ? lesson.mine_runner : lesson.solution_runner;
  const fs::path file = fs::path(RUNGS_BINARY_DIR) / "counts.json";

  json functions = json::array();
  bool all = true;
  if (!command.json) fmt::print("{}  profile{:>{}}\n", lesson.name, short_path(code), 70 - lesson.name.size());
  for (const Case& c : cases_to_count(lesson)) {
    const json counts = counts_of(runner, lesson, c, file);
    all = all && !counts.is_null();
    functions.push_back({{"function", c.input.run}, {"case", c.input.name}, {"lines", counts}});
    if (command.json) continue;
    fmt::print("\n{}, on the case {}\n", c.input.run, c.input.name);
    if (counts.is_null())
      fmt::print("  does not come to its end: `rungs check {}` says why\n", lesson.short_name());
    else
      print_table(counts, code);
  }
  fs::remove(file);
  if (command.json)
    fmt::print("{}\n", pretty(json{{"lesson", lesson.name}, {"code", short_path(code)}, {"functions", functions}}));
  else
    fmt::print(
        "\nA request is what the 32 threads of a warp ask for at once. A sector is 32 bytes of global memory; a wave "
        "is\n"
        "one pass through the 32 banks of shared memory. Ideal: the fewest for these bytes. <--: more than 1.5 times "
        "that.\n");
  return all ? 0 : 1;
}

}  // namespace rungs
