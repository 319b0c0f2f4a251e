/// The two suites: which cases a lesson is graded on.
#pragma once

#include <string_view>
#include <vector>

#include "rungs/grader/case.hpp"
#include "rungs/grader/lesson.hpp"

namespace rungs {

/// What a lesson is graded on.
enum class Suite {
  evaluate,     ///< outputs against the saved references: the lesson's functions, and the logits of the model so far
  kv_evaluate,  ///< with the cache: every split of a prompt into calls gives the logits of the whole, and nothing is
                ///< computed twice
};

/// As the command line calls it.
constexpr std::string_view name_of(Suite suite) { return suite == Suite::evaluate ? "evaluate" : "kv_evaluate"; }

/// The cases of a suite. \throws FileError
std::vector<Case> cases_of(const Lesson& lesson, Suite suite);

/// Of each function that a lesson's cases run, in their order, the case with the most numbers: it fills the tiles of a
/// kernel. Without those that must fail. \throws FileError
std::vector<Case> largest_cases_of(const Lesson& lesson);

}  // namespace rungs
