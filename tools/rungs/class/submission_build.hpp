/// Compiling what others wrote: each file by itself, behind walls, with a limit of everything.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// How the build makes a runner of a learner's file of one lesson: its own commands, for any file.
struct Recipe {
  std::vector<std::string> compile, link;       ///< words, for the build folder
  std::string source, object, program;          ///< those that stand for the files
  std::string solution_needs;                   ///< what the solution calls of others, as nm lists it
  std::vector<std::filesystem::path> readable;  ///< what the compiler may read of this project
};

/// Builds what all runners of the lesson share, and asks the build for its commands. \throws Error
Recipe recipe_of(const Lesson& lesson);

/// What came of building one file.
struct SubmissionBuild {
  std::string problem;  ///< "": it is built
  std::string output;   ///< of the compiler and the linker
};

/// Compiles and links `source` into `program`; both are in `folder`, which the compiler may write, and which must be
/// there. `called`: the file in the sentences.
SubmissionBuild build_submission(const Recipe& recipe, const std::filesystem::path& source,
                                 const std::filesystem::path& program, const std::string& called);

}  // namespace rungs
