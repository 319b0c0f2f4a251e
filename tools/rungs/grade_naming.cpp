// grade --naming: how well the grader names mistakes that nobody made from its list.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "rungs/base/json.hpp"
#include "rungs/grader/naming.hpp"
#include "workspace.hpp"

namespace rungs {

using nlohmann::json;

/// Lessons without such versions are left out, unless they are asked for.
static std::vector<Lesson> lessons_with_versions(const std::vector<std::string>& words) {
  std::vector<Lesson> lessons;
  const auto has_versions = [](const Lesson& l) {
    return std::filesystem::exists(std::filesystem::path(RUNGS_SOURCE_DIR) / "tests/learner/naming" /
                                   (l.name + ".toml"));
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

int grade_naming(const std::vector<std::string>& words, bool as_json) {
  std::vector<Naming> all;
  bool good = true;
  for (Lesson& lesson : lessons_with_versions(words)) {
    must_build_solution(lesson);
    must_build({lesson.name + "_versions"});
    const std::filesystem::path build = RUNGS_BINARY_DIR;
    all.push_back(naming(lesson, build / "bin" / (lesson.name + "_versions"),
                         free_versions(build / "lessons" / lesson.name / "versions.json")));
    good = good && all.back().problems.empty();
  }
  json list = json::array();
  for (const Naming& n : all)
    list.push_back({{"lesson", n.lesson},
                    {"wrong", n.wrong},
                    {"named", n.named},
                    {"unnamed", n.unnamed},
                    {"named_falsely", n.falsely},
                    {"passed", n.accepted},
                    {"right", n.right},
                    {"refused", n.refused},
                    {"problems", n.problems}});
  fmt::print("{}", as_json ? pretty(list) + "\n" : to_string(all));
  return good ? 0 : 1;
}

}  // namespace rungs
