#include "rungs/grader/naming.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rungs/base/file.hpp"
#include "rungs/base/text.hpp"

namespace rungs {

std::vector<FreeVersion> free_versions(const std::filesystem::path& file) {
  std::vector<FreeVersion> versions;
  for (const auto& v : nlohmann::json::parse(read_text(file)))
    versions.push_back({v.at("name"), v.at("right"), v.at("named"), v.at("says")});
  return versions;
}

namespace {

/// Of the first suite that fails; of the last where none does.
Grade grade_suites(const Lesson& lesson, const Candidate& candidate) {
  const Waiting as_check_does{.until_endless = true};
  Grade g = grade(lesson, Suite::evaluate, candidate, as_check_does);
  if (g.all_passed() && lesson.has_cache()) g = grade(lesson, Suite::kv_evaluate, candidate, as_check_does);
  return g;
}

/// The sentence of one of the mistakes that the version makes.
bool is_made(const KnownMistake& named, const FreeVersion& version, const Lesson& lesson) {
  return std::any_of(version.named.begin(), version.named.end(), [&](const std::string& made) {
    return std::any_of(lesson.mistakes.begin(), lesson.mistakes.end(),
                       [&](const KnownMistake& m) { return m.name == made && m.says == named.says; });
  });
}

/// Without the line breaks of the screen.
std::string in_one_line(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\n')
      out += c;
    else if (!out.ends_with(' '))
      out += ' ';
  return out;
}

void judge_version(Naming& n, const Lesson& lesson, const FreeVersion& version, const Grade& g) {
  const auto problem = [&](const std::string& what) { n.problems.push_back(version.name + " " + what); };
  (version.right ? n.right : n.wrong)++;
  if (version.right) {
    if (!g.all_passed()) ++n.refused, problem("is right and fails:\n" + g.story);
    return;
  }
  if (g.all_passed()) return ++n.accepted, problem("is wrong and passes");
  const auto& named = g.diagnosis.named;
  const auto other =
      std::find_if(named.begin(), named.end(), [&](const KnownMistake* m) { return !is_made(*m, version, lesson); });
  const bool said = !version.says.empty() && in_one_line(g.story).find(version.says) != std::string::npos;
  if (other != named.end()) {
    ++n.falsely, problem(fmt::format("is named falsely: {} ({})", (*other)->name, (*other)->says));
  } else if (!named.empty() || said) {
    ++n.named;
  } else {
    ++n.unnamed;
    if (!version.named.empty() || !version.says.empty()) problem("should be named, and is not:\n" + g.story);
  }
}

}  // namespace

Naming naming(const Lesson& lesson, const std::filesystem::path& runner, const std::vector<FreeVersion>& versions) {
  Naming n;
  n.lesson = lesson.name;
  const DrawnCases drawn = draw_cases(lesson, 1);  // what is right must agree with the solution on any input
  MistakeAnswers mistakes(lesson);
  for (const FreeVersion& v : versions) {
    const Candidate candidate{runner, v.name, v.name, {}, v.right ? &drawn : nullptr, &mistakes};
    judge_version(n, lesson, v, grade_suites(lesson, candidate));
  }
  return n;
}

std::string to_string(const std::vector<Naming>& lessons) {
  std::string text = fmt::format("{:<20}{:>7}{:>7}{:>9}{:>9}{:>9}{:>7}{:>9}\n", "lesson", "wrong", "named", "unnamed",
                                 "falsely", "passed", "right", "refused");
  Naming sum;
  const auto line = [&](const std::string& name, const Naming& n) {
    text += fmt::format("{:<20}{:>7}{:>7}{:>9}{:>9}{:>9}{:>7}{:>9}\n", name, n.wrong, n.named, n.unnamed, n.falsely,
                        n.accepted, n.right, n.refused);
  };
  for (const Naming& n : lessons) {
    line(n.lesson, n);
    sum.right += n.right, sum.wrong += n.wrong, sum.named += n.named, sum.unnamed += n.unnamed;
    sum.falsely += n.falsely, sum.accepted += n.accepted, sum.refused += n.refused;
  }
  line("all", sum);
  text += fmt::format("\n{:.0f}% of the wrong versions are named.\n",
                      sum.wrong ? 100.0 * double(sum.named) / double(sum.wrong) : 0);
  for (const Naming& n : lessons)
    for (const std::string& problem : n.problems) text += fmt::format("\n{}: {}\n", n.lesson, problem);
  return text;
}

}  // namespace rungs
