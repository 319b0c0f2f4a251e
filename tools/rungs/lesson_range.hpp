/// "01-05,14" on the command line.
#pragma once

#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// Those of `all` that the words name, in order; 05-08 has 08b, too. \throws UsageError for what is no such list, and
/// where a word names nothing new
std::vector<Lesson> lessons_in_range(const std::vector<Lesson>& all, const std::string& words);

}  // namespace rungs
