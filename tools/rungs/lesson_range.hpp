/// "01-05,14" on the command line.
#pragma once

#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// Those of `all` that the words name, in order. \throws UsageError for what is no such list, and for a lesson that is
/// not there
std::vector<Lesson> lessons_in_range(const std::vector<Lesson>& all, const std::string& words);

}  // namespace rungs
