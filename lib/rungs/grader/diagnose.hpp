/// Step three of a grade: which known mistake gives the same wrong answer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"
#include "rungs/grader/mistake_answers.hpp"
#include "rungs/grader/runner.hpp"

namespace rungs {

/// What the diagnosis found, if it found anything.
struct Diagnosis {
  std::vector<const KnownMistake*> named;  ///< more than one only where their outputs cannot be told apart
  size_t cases = 0;                        ///< failing cases on which the outputs were compared
  std::string tap;   ///< when not empty, the mistake explains this tap and, on some cases, not the outputs
  size_t whole = 0;  ///< where there is a tap: cases whose outputs it explains, too
};

/// Outputs of two runs are alike within the tolerances of the case; NaN equals NaN, and they ended in the same way.
bool alike(const Outcome& a, const Outcome& b, const Case& c);

/// A case that failed, and how it went with NaN in fresh memory.
struct FailedCase {
  const Case* asked;
  const Outcome* judged;
};

/// Asks every known mistake for its answers to the failing cases (at most 24), with finite noise in fresh memory, and
/// names those that give the learner's output on all of them and fail on none that the learner passes. Where none does,
/// those that give the first wrong tap on all of them.
Diagnosis diagnose(MistakeAnswers& mistakes, Runner& mine, const std::vector<FailedCase>& failing,
                   const std::vector<const Case*>& passing);

/// Whether something is read before it was written.
enum class FreshRead {
  none,              ///< not that it shows
  changes,           ///< what fresh memory holds changes an output or a tap
  right_with_zeros,  ///< and all of them are right where it holds zeros
};
/// Runs a case that failed once more, with zeros in fresh memory. `judged`: how it went with NaN there.
FreshRead reads_fresh_memory(Runner& mine, const Outcome& judged, const Case& c);

}  // namespace rungs
