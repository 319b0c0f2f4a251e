#include "rungs/grader/doctest_suites.hpp"

#include <set>

#include "rungs/grader/grade.hpp"

namespace rungs {

static const Lesson& lesson_named(std::string_view name) {
  static const std::vector<Lesson> lessons = find_lessons(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR),
                                   stretches = find_stretches(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR);
  for (const std::vector<Lesson>* list : {&lessons, &stretches})
    for (const Lesson& l : *list)
      if (l.name == name) return l;
  throw Error("no lesson is called " + std::string(name));
}

static Verdict check(const Case& c, Runner& solution) {
  Verdict v = judge(solution.run(c.input), c);
  INFO(c.input.name, ": ", v.summary, "\n", describe(v, c));
  CHECK(v.pass);
  MESSAGE(c.input.name, ": ", v.fraction, " of the tolerance used");
  return v;
}

/// A tap that goes by another name in the solution would be compared with nothing, in silence.
static void check_taps(const Verdict& v, const Case& c) {
  std::set<std::string> shown;
  for (const Compared& p : compare_all(v.outcome, c)) {
    INFO(p.name);
    CHECK(p.comparison.pass);
    shown.insert(p.name);
  }
  for (const Reference& r : c.references) {
    INFO(r.name);
    CHECK((shown.contains(r.name) || !c.error.empty()));
  }
}

void check_case(const char* lesson, const char* name) {
  const Lesson& l = lesson_named(lesson);
  Runner solution(l.solution_runner, "solution");
  for (const Case& c : cases_of(l, Suite::evaluate))
    if (c.input.name == name) return check_taps(check(c, solution), c);
  throw FileError((l.references / name).string() + ": wanted this case, found none");
}

void check_kv_evaluate(const char* lesson) {
  const Lesson& l = lesson_named(lesson);
  Runner solution(l.solution_runner, "solution");
  for (const Case& c : cases_of(l, Suite::kv_evaluate)) check(c, solution);
}

}  // namespace rungs
