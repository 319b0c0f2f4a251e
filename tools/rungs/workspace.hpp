/// Lessons by what a learner calls them, and the learner's files: building them, and remembering which of them passed.
#pragma once

#include <string>
#include <vector>

#include "rungs/grader/grade.hpp"
#include "rungs/grader/lesson.hpp"

namespace rungs {

/// Of this build.
std::vector<Lesson> all_lessons();

/// "6", "06", "06_causal_mask" and "06_causal" all name the same lesson. \throws UsageError
Lesson lesson_called(const std::string& word);

/// Relative to the source tree for what is in it.
std::string short_path(const std::filesystem::path& path);

struct Build {
  bool ok;
  std::string output;
};
/// Says what it builds, and how far it is, where that takes a while. Waits for a build that runs already.
Build build(const std::vector<std::string>& targets);
/// Makes a file of a build, which stays as it is where it would not change.
void write_where_different(const std::filesystem::path& path, const std::string& text);
/// A target of the build compiles `file`; what it includes is the learner's, wherever that stands.
void write_include(const std::string& file, const std::filesystem::path& path);
/// Builds the runner of the learner's file; then the lesson knows its mistakes.
Build build_mine(Lesson& lesson);
/// Builds the runners of the solution and of the known mistakes. \throws Error as must_build.
void must_build_solution(Lesson& lesson);
/// \throws Error with the output, for something that ought to build
void must_build(const std::vector<std::string>& targets);

/// How far the learner is with a lesson. A pass is remembered with the content that passed.
enum class Standing { not_started, started, passed, changed };
Standing standing_of(const Lesson& lesson);
void note_progress(const Lesson& lesson, bool passed);

/// The learner's file passes every suite of its lesson: judged now, unless this very content has passed before.
bool passes(const Lesson& lesson);

}  // namespace rungs
