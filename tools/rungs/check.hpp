/// What `rungs check` says of a learner's file, as text: for the command, and for the screen of `rungs watch`.
#pragma once

#include <string>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// The verdict on a file.
struct Checked {
  bool passed = false;
  std::string text;  ///< what a person reads; ends with a newline
  double build_seconds = 0, grade_seconds = 0;
};

/// Builds and grades the learner's file of a lesson, and remembers whether it passed; then the lesson knows its
/// mistakes. `on`: as of build_mine; a pass on what nvcc makes is not remembered, since there the checker does not
/// watch. \throws Error when what is not the learner's does not build.
Checked check_file(Lesson& lesson, bool colour, bool brief = false, const std::string& on = "emulator");

/// Of what nvcc makes of the learner's file of a lesson: it can be built, and run `on` "ptx" or "gpu". \throws
/// UsageError
void require_place(const Lesson& lesson, const std::string& on);

}  // namespace rungs
