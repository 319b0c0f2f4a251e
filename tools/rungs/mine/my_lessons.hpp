/// Which lessons' code takes part where the learner's own code runs.
#pragma once

#include <string>
#include <vector>

namespace rungs {

/// One lesson as `rungs generate --mine` found it when it built this program.
struct MyLesson {
  std::string name;  ///< "10_grouped_query"
  std::string why;   ///< it is not the learner's: "not started: rungs start 10"; "" when it passed
};

/// All lessons, in order; generated.
const std::vector<MyLesson>& my_lessons();

/// \throws Error when there is no lesson of this number
const MyLesson& my_lesson(int number);

/// The learner's file of this lesson passed, and is part of this program.
bool passed(int lesson);

}  // namespace rungs
