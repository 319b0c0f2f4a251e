// grade --naming: how well the grader names mistakes that nobody made from its list.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "child_processes.hpp"
#include "commands.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/grader/naming.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

/// Lessons without such versions are left out, unless they are asked for.
static std::vector<Lesson> lessons_with_versions(const std::vector<std::string>& words) {
  std::vector<Lesson> lessons;
  const auto has_versions = [](const Lesson& l) {
    return fs::exists(fs::path(RUNGS_SOURCE_DIR) / "tests/learner/naming" / (l.name + ".toml"));
  };
  for (Lesson& l : all_lessons())
    if (words.empty() && has_versions(l)) lessons.push_back(l);
  for (const std::string& word : words) {
    lessons.push_back(lesson_called(word));
    if (!has_versions(lessons.back()))
      throw UsageError(fmt::format("{} has no freely written versions: tests/learner/naming/{}.toml would hold them",
                                   lessons.back().name, lessons.back().name));
  }
  return lessons;
}

/// Builds what is graded: all at once, so that every processor has something to compile.
static std::vector<Lesson> build_versions(std::vector<Lesson> lessons) {
  std::vector<std::string> targets;
  for (const Lesson& l : lessons)
    for (const char* runner : {"_solution", "_mistakes", "_versions"}) targets.push_back(l.name + runner);
  must_build(targets);
  for (Lesson& l : lessons) l = lesson_called(l.name);  // with the list of mistakes that was just made
  return lessons;
}

static json to_json(const Naming& n) {
  return {{"lesson", n.lesson},   {"wrong", n.wrong},           {"named", n.named},
          {"unnamed", n.unnamed}, {"named_falsely", n.falsely}, {"passed", n.accepted},
          {"right", n.right},     {"refused", n.refused},       {"problems", n.problems}};
}

static Naming from_json(const json& j) {
  return {j.at("lesson"),        j.at("right"),  j.at("wrong"),   j.at("named"),   j.at("unnamed"),
          j.at("named_falsely"), j.at("passed"), j.at("refused"), j.at("problems")};
}

int grade_naming(const std::vector<std::string>& words, bool as_json) {
  const std::vector<Lesson> lessons = build_versions(lessons_with_versions(words));
  const fs::path build = RUNGS_BINARY_DIR;
  const auto result_of = [&](size_t i) { return build / "lessons" / lessons[i].name / "naming.json"; };
  const auto grade_lesson = [&](size_t i) {
    const std::string& name = lessons[i].name;
    const auto versions = free_versions(build / "lessons" / name / "versions.json");
    const Naming n = naming(lessons[i], build / "bin" / (name + "_versions"), versions);
    write_whole(result_of(i), [&](std::ostream& out) { out << to_json(n); });
    return 0;
  };
  std::string ended_on;
  {
    Progress progress("Grading", int64_t(lessons.size()));
    in_child_processes(lessons.size(), default_jobs(), grade_lesson, [&](size_t i, int status) {
      if (status != 0) ended_on = lessons[i].name;
      progress.advance();
    });
  }
  if (!ended_on.empty()) throw Error("the grader itself ended on the versions of " + ended_on);

  json list = json::array();
  std::vector<Naming> all;
  for (size_t i = 0; i < lessons.size(); ++i) {
    list.push_back(json::parse(read_text(result_of(i))));
    all.push_back(from_json(list.back()));
  }
  fmt::print("{}", as_json ? pretty(list) + "\n" : to_string(all));
  return std::all_of(all.begin(), all.end(), [](const Naming& n) { return n.problems.empty(); }) ? 0 : 1;
}

}  // namespace rungs
