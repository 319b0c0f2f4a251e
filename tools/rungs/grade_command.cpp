// grade: every lesson's suites, for a course, for scripts, and for the suites themselves.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cases/hidden_cases.hpp"
#include "class/class_result.hpp"
#include "commands.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/text.hpp"
#include "rungs/grader/strength.hpp"
#include "suggest.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

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

/// The same as the result of a class has it, for the report in JUnit's XML.
static json as_result(const Grade& g, bool built, double seconds) {
  json cases = json::array();
  for (size_t i = 0; built && i < g.cases.size(); ++i)
    cases.push_back({{"case", g.cases[i].input.name},
                     {"suite", g.suite},
                     {"passed", g.verdicts[i].pass},
                     {"sentence", printable(g.verdicts[i].summary)}});
  const json lesson = {{"lesson", g.lesson}, {"problem", built ? "" : "it does not compile"},
                       {"passed", g.passed}, {"total", g.cases.size()},
                       {"seconds", seconds}, {"cases", cases}};
  return {{"name", g.graded}, {"problem", ""}, {"lessons", json::array({lesson})}};
}

/// What --junit asks for, beside which other options.
static void check_junit(const GradeOptions& options) {
  if (!options.junit) return;
  if (options.submissions.empty() && (options.junit_file.empty() || options.strength || options.naming))
    throw UsageError("--junit: wanted the file for a report on your own files, `grade 01 --junit report.xml`");
  if (!options.submissions.empty() && !options.junit_file.empty())
    throw UsageError("--junit: with --submissions the report is REPORT/junit.xml, so leave " + options.junit_file +
                     " out");
}

/// A grade in which every case failed for one reason: the learner's file does not compile.
static Grade not_compiled(const Lesson& lesson, Suite suite) {
  Grade g;
  g.lesson = lesson.name, g.suite = name_of(suite), g.graded = mine(lesson).called;
  g.cases = cases_of(lesson, suite);
  g.story = fmt::format("It does not compile: `{} check {}` shows why.\n", typed(), lesson.short_name());
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
  if (words.empty())
    for (Lesson& stretch : all_stretches()) lessons.push_back(std::move(stretch));
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
    fmt::print("Clean: {} known mistakes in {} lesson{} are all rejected and told apart, and every solution passes.\n",
               mistakes, lessons.size(), lessons.size() == 1 ? "" : "s");
  else
    fmt::print("{} of {} lessons are not clean.\n", problems, lessons.size());
  return problems ? 1 : 0;
}

namespace {

/// What came of the lessons so far.
struct OwnGrades {
  json list = json::array(), results = json::array();
  size_t passed = 0, total = 0;
};

void grade_own(Lesson& lesson, const GradeOptions& options, OwnGrades& all) {
  const bool written = fs::exists(lesson.mine);
  if (!written && !lesson.has_solution()) {
    if (!options.json) fmt::print("{:<18}{:<13}{:<27} not started\n", lesson.name, "", short_path(lesson.mine));
    return;
  }
  const Alone lock = alone_with(lesson);
  const bool built = written ? build_mine(lesson).ok : (must_build_solution(lesson), true);
  bool all_passed = true;
  for (const Suite suite : suites_of(lesson, options.suite)) {
    const auto begin = std::chrono::steady_clock::now();
    const Grade g =
        built ? grade(lesson, suite, written ? mine(lesson) : solution(lesson)) : not_compiled(lesson, suite);
    all.passed += g.passed, all.total += g.cases.size();
    all_passed = all_passed && g.all_passed();
    all.list.push_back(to_json(g));
    all.results.push_back(
        as_result(g, built, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()));
    if (options.json) continue;
    fmt::print("{:<18}{:<13}{:<27} {}\n", g.lesson, g.suite, g.graded, pass_rate(g.passed, g.cases.size()));
    if (!g.story.empty()) fmt::print("\n{}\n", g.story);
  }
  if (written && options.suite.empty() && options.cases.empty()) note_progress(lesson, all_passed);
}

/// What a course's handout cannot do.
void require_solutions(const std::vector<Lesson>& lessons) {
  for (const Lesson& lesson : lessons)
    if (!lesson.has_solution())
      throw UsageError(fmt::format(
          "this copy of Rungs is a handout, without the solution of {}: it grades your own files alone", lesson.name));
}

void check_options(const GradeOptions& options) {
  const std::string suites[] = {"evaluate", "kv_evaluate"};
  if (!options.suite.empty() && std::find(std::begin(suites), std::end(suites), options.suite) == std::end(suites))
    throw UsageError(fmt::format("no suite is called {}{}; there are evaluate and kv_evaluate", options.suite,
                                 did_you_mean(options.suite, suites)));
  check_junit(options);
  if (options.strength || options.naming || !options.submissions.empty())
    require_solutions(chosen_lessons(options.lessons));
}

}  // namespace

int grade_lessons(const GradeOptions& given) {
  const GradeOptions options = given.cases.empty() ? given : with_hidden_cases(given);
  check_options(options);
  if (options.strength) return grade_strength(options.lessons, options.json);
  if (!options.submissions.empty()) return grade_class(options);
  if (options.naming) return grade_naming(options.lessons, options.json);

  std::vector<Lesson> lessons = chosen_lessons(options.lessons);
  OwnGrades all;
  for (Lesson& lesson : lessons) grade_own(lesson, options, all);
  if (all.list.empty() && options.suite.empty())
    throw UsageError(fmt::format("no case was executed: `{} start NN` begins a lesson", typed()));
  if (all.total == 0)
    throw UsageError(fmt::format("no case was executed: no lesson named has the suite {}", options.suite));
  if (!options.junit_file.empty())
    write_whole(options.junit_file, [&](std::ostream& out) { out << class_junit(all.results); });
  if (options.json)
    fmt::print("{}\n", pretty(json{{"grades", all.list}, {"passed", all.passed}, {"total", all.total}}));
  else
    fmt::print("\n{}\n", pass_rate(all.passed, all.total));
  return all.passed == all.total ? 0 : 1;
}

}  // namespace rungs
