#include "rungs/grader/strength.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "rungs/grader/diagnose.hpp"
#include "rungs/grader/faults.hpp"
#include "rungs/grader/grade.hpp"
#include "rungs/grader/mistake_answers.hpp"

namespace rungs {

namespace {

/// How one known mistake fared on every case.
struct Fate {
  std::vector<Verdict> verdicts;              // with NaN in fresh memory: is it rejected?
  std::vector<std::optional<Outcome>> noisy;  // where it is, with finite noise if that may differ: is it told apart?

  const Outcome& told_of(size_t i) const { return noisy[i] ? *noisy[i] : verdicts[i].outcome; }
};

/// The right ending and a wrong output.
bool wrong_output(const Verdict& v, const Case& c) {
  return !v.pass && v.outcome.how == Outcome::done && c.error.empty() && !v.too_much_work;
}

/// The mistake shows as it says: a wrong output, a wrong ending, too much work, a fault that the checker found.
bool shows_as_declared(const MistakeStrength& m, const Fate& fate, const std::vector<Case>& cases) {
  size_t failed = 0, outputs = 0, work = 0, endings = 0, faults = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Verdict& v = fate.verdicts[i];
    faults += v.outcome.how == Outcome::threw && is_kernel_fault(v.outcome.says);
    failed += !v.pass, work += v.too_much_work, outputs += wrong_output(v, cases[i]);
    endings += !v.pass && !v.too_much_work &&
               (!wrong_output(v, cases[i]) || std::isinf(v.fraction));  // NaN counts as an ending
  }
  if (m.shows == "output") return outputs > 0;
  if (m.shows == "work") return work > 0 && work == failed;
  if (m.shows == "error") return endings > 0;
  if (m.shows == "checker") return faults > 0 && faults == failed;
  return m.shows == "unstable";
}

bool alike_on_all(const Fate& a, const Fate& b, const std::vector<Case>& cases) {
  for (size_t i = 0; i < cases.size(); ++i)
    if (a.verdicts[i].pass != b.verdicts[i].pass ||
        (!a.verdicts[i].pass && !alike(a.told_of(i), b.told_of(i), cases[i])))
      return false;
  return true;
}

}  // namespace

bool Strength::clean() const {
  const auto good = [](const MistakeStrength& m) { return m.problems.empty(); };
  return cases > 0 && solution_passed == cases && std::all_of(mistakes.begin(), mistakes.end(), good);
}

Strength strength(const Lesson& lesson) {
  std::vector<Case> cases = cases_of(lesson, Suite::evaluate);
  if (lesson.has_cache()) {
    cases.clear();  // the cases of evaluate that have no work stand in front of those of kv_evaluate, which has all
                    // others
    for (Case& c : cases_of(lesson, Suite::evaluate))
      if (!c.linear_rows) cases.push_back(std::move(c));
    for (Case& c : cases_of(lesson, Suite::kv_evaluate)) cases.push_back(std::move(c));
  }
  Strength s;
  s.lesson = lesson.name, s.cases = cases.size();
  Runner solution(lesson.solution_runner, "solution");
  for (const Case& c : cases) s.solution_passed += judge(solution.run(c.input), c).pass;

  std::vector<Fate> fates;
  std::vector<Runner> runners = mistake_runners(lesson);
  for (size_t k = 0; k < runners.size(); ++k) {
    Fate fate;
    MistakeStrength m{lesson.mistakes[k].name, lesson.mistakes[k].shows, 0, cases.size(), 0, {}};
    for (const Case& c : cases) {
      Verdict& v = fate.verdicts.emplace_back(judge(runners[k].run(c.input), c));
      fate.noisy.push_back(v.pass ? std::nullopt : runners[k].run_with_noise(c.input, v.outcome));
      if (v.pass || fate.noisy.back()) v.outcome.recording = {};  // of all mistakes it would be a gigabyte
      if (v.pass) continue;
      ++m.rejected;
      m.best_fraction = std::max(m.best_fraction, wrong_output(v, c) ? v.fraction : HUGE_VAL);
    }
    if (m.rejected == 0) m.problems.push_back("no case rejects it");
    if (m.rejected && !shows_as_declared(m, fate, cases)) m.problems.push_back("it does not show as " + m.shows);
    if (m.rejected && m.best_fraction < 10)
      m.problems.push_back(fmt::format("its best case misses the tolerance by {:.1f} times only", m.best_fraction));
    for (size_t other = 0; other < k; ++other)
      if (lesson.mistakes[other].says != lesson.mistakes[k].says && alike_on_all(fates[other], fate, cases))
        m.problems.push_back("no case tells it from " + lesson.mistakes[other].name);
    s.mistakes.push_back(std::move(m));
    fates.push_back(std::move(fate));
  }
  return s;
}

std::string to_string(const Strength& s) {
  std::string text = fmt::format("{}: the solution passes {} of {} cases\n", s.lesson, s.solution_passed, s.cases);
  text +=
      fmt::format("  {:<38}{:<10}{:<18}{}\n", "known mistake", "shows as", "rejected by", "best case, in tolerances");
  for (const MistakeStrength& m : s.mistakes) {
    const std::string fraction = std::isinf(m.best_fraction) ? "-" : fmt::format("{:.3g}", m.best_fraction);
    text += fmt::format("  {:<38}{:<10}{:<18}{}\n", m.name, m.shows, fmt::format("{} of {}", m.rejected, m.cases),
                        fraction);
    for (const std::string& problem : m.problems) text += fmt::format("      TOO WEAK: {}\n", problem);
  }
  return text;
}

}  // namespace rungs
