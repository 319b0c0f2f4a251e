/// Is the suite strong enough? The known mistakes prove it.
#pragma once

#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// What became of one known mistake.
struct MistakeStrength {
  std::string name, shows;
  size_t rejected = 0, cases = 0;  ///< by how many of how many cases
  double best_fraction =
      0;  ///< the tolerance is missed by this factor on the case that shows it best; infinite for errors
  std::vector<std::string> problems;  ///< why the suite, or the mistake's declaration, is not good enough
};

/// What became of the solution and of every known mistake of a lesson.
struct Strength {
  std::string lesson;
  size_t solution_passed = 0, cases = 0;
  std::vector<MistakeStrength> mistakes;

  bool clean() const;
};

/// Runs a lesson's suites on its solution and on every known mistake. A suite is too weak when a mistake passes, when
/// two mistakes of different sentences give the same output on all cases, or when one misses the tolerance by less than
/// ten times on its best case.
Strength strength(const Lesson& lesson);

/// As a table.
std::string to_string(const Strength& strength);

}  // namespace rungs
