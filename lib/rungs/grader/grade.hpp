/// One suite of one lesson, graded: the verdict of every case, and the story of the first that failed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rungs/grader/diagnose.hpp"
#include "rungs/grader/draw.hpp"
#include "rungs/grader/judge.hpp"
#include "rungs/grader/suites.hpp"

namespace rungs {

/// What came of one suite of one lesson.
struct Grade {
  std::string lesson, suite;
  std::string graded;  ///< "work/06_causal_mask.cpp" or "the solution"
  std::vector<Case> cases;
  std::vector<Verdict> verdicts;  ///< one for each case
  size_t passed = 0;
  size_t not_run = 0;   ///< cases after one that did not come to its end, where nobody waits for them
  Diagnosis diagnosis;  ///< of the failing cases
  std::string story;  ///< of one failing case: what is wrong, where it begins, which mistake it is; "" when all passed
  std::string printed;  ///< what the code under grade printed in the case that is told of, its end

  bool all_passed() const { return passed == cases.size() && !cases.empty(); }
};

/// Whose code is graded.
struct Candidate {
  std::filesystem::path program;  ///< of runner processes
  std::string implementation;     ///< the one of those in it
  std::string called;             ///< "work/06_causal_mask.cpp"
  RunnerLimits limits = {};
  const DrawnCases* drawn = nullptr;   ///< on these it must agree with the solution, where there are any
  MistakeAnswers* mistakes = nullptr;  ///< of its lesson, where many are graded; otherwise asked for this grade alone
};

/// The learner's file, which must exist and be built.
Candidate mine(const Lesson& lesson);
/// The reference solution.
Candidate solution(const Lesson& lesson);

/// Somebody who waits for the verdict.
struct Waiting {
  bool until_endless = false;  ///< the first case that does not come to its end is the last; those after it fail unrun
  std::function<void(const Case&)> before = {};  ///< hears of each case before it runs
  std::function<void()> after = {};              ///< hears that no further case runs
};

/// Runs every case of a suite; diagnoses when something failed. `lesson` must outlive the grade, which points to its
/// known mistakes.
Grade grade(const Lesson& lesson, Suite suite, const Candidate& candidate, const Waiting& waiting = {});

/// The failing case that a story is told of: of the first function that goes wrong, the smallest that has more than one
/// row. Where all that is written is right, the first that waits for something to be written. One must have failed.
size_t case_to_tell(const Grade& grade);

/// "Pass rate: 100.00% (10/10)"
std::string pass_rate(size_t passed, size_t total);

/// The verdict on one screen, as `rungs check` shows it.
std::string screen(const Grade& grade, bool colour);

}  // namespace rungs
