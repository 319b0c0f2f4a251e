/// What helps a learner who is stuck.
#pragma once

#include <string>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// The first of the page's hints that was not read yet, which is read then; after the last, that one again, and says
/// so.
std::string next_hint(const Lesson& lesson, bool colour);

/// The learner's file beside their file of the lesson before it, as `diff -u` shows it; "": one of them is not there.
std::string difference_from_previous(const Lesson& lesson);

}  // namespace rungs
