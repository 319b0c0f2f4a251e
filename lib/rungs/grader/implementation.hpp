/// What a runner program is built from: a list of implementations of a lesson, and how to run one case on one of them.
#pragma once

#include <span>

#include "rungs/grader/case.hpp"
#include "rungs/grader/recording.hpp"

namespace rungs {

/// The learner's file or the solution (one implementation), or all known mistakes of a lesson.
struct Implementation {
  const char* name;  ///< "solution", "mine", or the name of a known mistake
  void (*run)(const CaseInput& in, Recording& out);
};

/// Generated for each runner program.
std::span<const Implementation> implementations();

}  // namespace rungs
