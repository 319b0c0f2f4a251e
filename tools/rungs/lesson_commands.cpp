// list, run, start, check, reset, grade: what a learner types.
#include <fmt/color.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "commands.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/grader/strength.hpp"
#include "suggest.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// What the compiler said, without the build tool's own lines.
std::string compiler_output(const std::string& output) {
  std::string text;
  bool is_command = false;
  for (size_t begin = 0; begin < output.size();) {
    const size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    const auto begins_with = [&](const char* what) { return line.starts_with(what); };
    constexpr const char* of_the_build[] = {"[",
                                            "ninja:",
                                            "FAILED:",
                                            "collect2:",
                                            "clang: error: linker",
                                            "gmake",
                                            "In file included from " RUNGS_BINARY_DIR "/mine/"};
    const bool noise = std::any_of(std::begin(of_the_build), std::end(of_the_build), begins_with);
    if (!noise && !is_command && !line.empty()) text += line + "\n";
    is_command = line.starts_with("FAILED:");  // the next line is
    begin = end + 1;
  }
  return text;
}

/// The first of the warnings that a file which compiles has; "": it has none.
std::string warnings(const std::string& output) {
  constexpr size_t most = 5;
  const std::string text = compiler_output(output);
  size_t end = 0, count = 0, begin = 0;
  for (size_t at = 0; (at = text.find(": warning: ", at)) != text.npos; ++at) {
    if (count == 0) begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    if (++count == most + 1) end = text.rfind('\n', at) + 1;
  }
  if (count == 0) return "";
  const std::string rest = count > most ? fmt::format("and {} more\n", count - most) : "";
  return fmt::format("It compiles, with a warning that may be the reason for what follows:\n{}{}\n",
                     text.substr(begin, end ? end - begin : text.npos), rest);
}

/// The functions that a linker did not find, a line each. GNU ld, gold, lld and mold each have their own words.
std::string missing_functions(const std::string& output) {
  static const std::regex missing("undefined (?:reference to [`']|symbol: )([^\n]*?)'?\n");
  std::set<std::string> lines;
  for (std::sregex_iterator m(output.begin(), output.end(), missing), end; m != end; ++m)
    lines.insert("  " + (*m)[1].str() + "\n");
  return fmt::format("{}", fmt::join(lines, ""));
}

std::string state_of(const Lesson& lesson) {
  constexpr const char* names[] = {"", "started", "passed", "changed since it passed"};
  return names[int(standing_of(lesson))];
}

}  // namespace

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
    fmt::print(" Next: rungs {} {}", state.empty() ? "start" : "check", l.name.substr(0, 2));
    break;
  }
  fmt::print("\n");
  return 0;
}

int run_lesson(const std::string& word) {
  const Lesson lesson = lesson_called(word);
  must_build({lesson.name});
  std::fflush(stdout);
  const int status = std::system(("'" + lesson.program.string() + "'").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void copy_starter(const Lesson& lesson) {
  must_build({lesson.name + "_made"});
  fs::create_directories(lesson.mine.parent_path());
  write_whole(lesson.mine, [text = read_text(lesson.starter)](std::ostream& out) { out << text; });
}

int start_lesson(const std::string& word) {
  const Lesson lesson = lesson_called(word);
  const std::string number = lesson.name.substr(0, 2);
  if (fs::exists(lesson.mine))
    throw UsageError(fmt::format("{} is already there; `rungs check {}` grades it, `rungs reset {}` begins anew",
                                 short_path(lesson.mine), number, number));
  copy_starter(lesson);
  fmt::print("{}: {}.\n\n", lesson.name, lesson.title);
  fmt::print("  write   {}\n", short_path(lesson.mine));
  fmt::print("  read    {}\n          {}\n", short_path(lesson.source / "walkthrough.md"),
             short_path(lesson.source / "lesson.hpp"));
  fmt::print("  see     rungs run {}\n  check   rungs check {}\n", number, number);
  return 0;
}

int reset_lesson(const std::string& word) {
  const Lesson lesson = lesson_called(word);
  if (!fs::exists(lesson.mine))
    throw UsageError(
        fmt::format("{} is not there; `rungs start {}` makes it", short_path(lesson.mine), lesson.name.substr(0, 2)));
  fs::path kept = lesson.mine;
  for (int n = 1; fs::exists(kept); ++n)
    kept = lesson.mine.parent_path() / fmt::format("{}.before_reset_{}{}", lesson.name, n, lesson.ending);
  fs::rename(lesson.mine, kept);
  copy_starter(lesson);
  note_progress(lesson, false);
  fmt::print("{} is the starter again; what you had is in {}\n", short_path(lesson.mine), short_path(kept));
  return 0;
}

int check_lesson(const std::string& word) {
  Lesson lesson = lesson_called(word);
  const std::string number = lesson.name.substr(0, 2);
  if (!fs::exists(lesson.mine))
    throw UsageError(
        fmt::format("there is nothing to check yet; `rungs start {}` makes {}", number, short_path(lesson.mine)));
  const Build b = build_mine(lesson);
  if (!b.ok) {
    if (const std::string missing = missing_functions(b.output); !missing.empty())
      fmt::print("{} lacks a function that lesson.hpp declares:\n{}", short_path(lesson.mine), missing);
    else
      fmt::print("{}\n{} does not compile; the first error above is the one to look at.\n", compiler_output(b.output),
                 short_path(lesson.mine));
    return 1;
  }
  Grade last = grade(lesson, Suite::evaluate, mine(lesson));
  fmt::print("{}{}", warnings(b.output), screen(last, wants_colour(stdout)));
  if (last.all_passed() && lesson.has_cache()) {
    last = grade(lesson, Suite::kv_evaluate, mine(lesson));
    fmt::print("\n{}", screen(last, wants_colour(stdout)));
  }
  note_progress(lesson, last.all_passed());
  if (!last.all_passed()) return 1;

  fmt::print("\nPassed. Compare yours with {}.", short_path(lesson.solution));
  for (const Lesson& next : all_lessons())
    if (next.number() == lesson.number() + 1) fmt::print(" Next: rungs start {}", next.name.substr(0, 2));
  fmt::print("\n");
  return 0;
}

// ---- grade ----

static json to_json(const Grade& g) {
  json cases = json::array();
  for (size_t i = 0; i < g.cases.size(); ++i)
    cases.push_back({{"case", g.cases[i].input.name},
                     {"passed", g.verdicts[i].pass},
                     {"sentence", g.verdicts[i].summary},
                     {"fraction_of_tolerance", g.verdicts[i].fraction}});
  return {{"lesson", g.lesson},      {"suite", g.suite}, {"graded", g.graded}, {"passed", g.passed},
          {"total", g.cases.size()}, {"cases", cases},   {"story", g.story}};
}

/// A grade in which every case failed for one reason: the learner's file does not compile.
static Grade not_compiled(const Lesson& lesson, Suite suite) {
  Grade g;
  g.lesson = lesson.name, g.suite = name_of(suite), g.graded = mine(lesson).called;
  g.cases = cases_of(lesson, suite);
  g.story = fmt::format("It does not compile: `rungs check {}` shows why.\n", lesson.name.substr(0, 2));
  for (size_t i = 0; i < g.cases.size(); ++i) {
    Verdict v;
    v.summary = "it does not compile";
    g.verdicts.push_back(std::move(v));
  }
  return g;
}

static std::vector<Lesson> chosen_lessons(const std::vector<std::string>& words) {
  if (words.empty()) return all_lessons();
  std::vector<Lesson> lessons;
  for (const std::string& word : words) lessons.push_back(lesson_called(word));
  return lessons;
}

static std::vector<Suite> suites_of(const Lesson& lesson, const std::string& named) {
  std::vector<Suite> suites;
  if (named.empty() || named == "evaluate") suites.push_back(Suite::evaluate);
  if ((named.empty() || named == "kv_evaluate") && lesson.has_cache()) suites.push_back(Suite::kv_evaluate);
  return suites;
}

static int grade_strength(const std::vector<std::string>& words, bool as_json) {
  json list = json::array();
  size_t problems = 0, mistakes = 0;
  std::vector<Lesson> lessons = chosen_lessons(words);
  for (Lesson& lesson : lessons) {
    must_build_solution(lesson);
    const Strength s = strength(lesson);
    problems += !s.clean();
    mistakes += s.mistakes.size();
    if (!as_json) fmt::print("{}\n", to_string(s));
    json rows = json::array();
    for (const MistakeStrength& m : s.mistakes)
      rows.push_back({{"name", m.name},
                      {"shows", m.shows},
                      {"rejected_by", m.rejected},
                      {"cases", m.cases},
                      {"problems", m.problems}});
    list.push_back({{"lesson", s.lesson},
                    {"clean", s.clean()},
                    {"solution_passed", s.solution_passed},
                    {"cases", s.cases},
                    {"mistakes", rows}});
  }
  if (as_json)
    fmt::print("{}\n", pretty(list));
  else if (problems == 0)
    fmt::print("Clean: {} known mistakes in {} lessons are all rejected and told apart, and every solution passes.\n",
               mistakes, lessons.size());
  else
    fmt::print("{} of {} lessons are not clean.\n", problems, lessons.size());
  return problems ? 1 : 0;
}

int grade_lessons(const GradeOptions& options) {
  const std::string suites[] = {"evaluate", "kv_evaluate"};
  if (!options.suite.empty() && std::find(std::begin(suites), std::end(suites), options.suite) == std::end(suites))
    throw UsageError(fmt::format("no suite is called {}{}; there are evaluate and kv_evaluate", options.suite,
                                 did_you_mean(options.suite, suites)));
  if (options.strength) return grade_strength(options.lessons, options.json);
  if (options.naming) return grade_naming(options.lessons, options.json);
  std::vector<Lesson> lessons = chosen_lessons(options.lessons);

  json list = json::array();
  size_t passed = 0, total = 0;
  for (Lesson& lesson : lessons) {
    const bool written = fs::exists(lesson.mine);
    const bool built = written ? build_mine(lesson).ok : (must_build_solution(lesson), true);
    bool all_passed = true;
    for (const Suite suite : suites_of(lesson, options.suite)) {
      const Grade g =
          built ? grade(lesson, suite, written ? mine(lesson) : solution(lesson)) : not_compiled(lesson, suite);
      passed += g.passed, total += g.cases.size();
      all_passed = all_passed && g.all_passed();
      list.push_back(to_json(g));
      if (options.json) continue;
      fmt::print("{:<18}{:<13}{:<27} {}\n", g.lesson, g.suite, g.graded, pass_rate(g.passed, g.cases.size()));
      if (!g.story.empty()) fmt::print("\n{}\n", g.story);
    }
    if (written && options.suite.empty()) note_progress(lesson, all_passed);
  }
  if (total == 0)
    throw UsageError(fmt::format("no case was executed: no lesson named has the suite {}", options.suite));
  if (options.json)
    fmt::print("{}\n", pretty(json{{"grades", list}, {"passed", passed}, {"total", total}}));
  else
    fmt::print("\n{}\n", pass_rate(passed, total));
  return passed == total ? 0 : 1;
}

}  // namespace rungs
