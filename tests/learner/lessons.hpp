/// The lessons of this build, and the runner programs that only the tests have.
#pragma once

#include "rungs/grader/grade.hpp"

namespace rungs::test {

/// \throws Error when there is none of that name
inline const Lesson& lesson_called(std::string_view name) {
  static const std::vector<Lesson> lessons = find_lessons(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR),
                                   stretches = find_stretches(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR);
  for (const std::vector<Lesson>* list : {&lessons, &stretches})
    for (const Lesson& l : *list)
      if (l.name == name) return l;
  throw Error("no lesson is called " + std::string(name));
}

/// A program of the build, "hostile_06".
inline std::filesystem::path program(const std::string& name) {
  return std::filesystem::path(RUNGS_BINARY_DIR) / "bin" / name;
}

}  // namespace rungs::test
