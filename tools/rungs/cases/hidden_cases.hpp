/// Cases that learners have not seen.
#pragma once

#include <string>
#include <vector>

#include "../commands.hpp"

namespace rungs {

/// From now on lessons are graded on the cases in options.cases, a folder that `rungs cases new` wrote; gives the
/// options with the lessons it has, where none was named. \throws UsageError when it has no cases of one
GradeOptions with_hidden_cases(GradeOptions options);

}  // namespace rungs
