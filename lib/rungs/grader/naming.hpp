/// How well the grader names mistakes that nobody made from its list: a benchmark of versions that were written freely.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "rungs/grader/grade.hpp"

namespace rungs {

/// A version of a lesson, right or wrong, and what a person would say of it.
struct FreeVersion {
  std::string name;
  bool right = false;
  std::vector<std::string> named;  ///< known mistakes that it makes, in other words; none: no name is right
  std::string says;                ///< or a part of what the grader says without a known mistake
};

/// What came of the versions of one lesson.
struct Naming {
  std::string lesson;
  size_t right = 0, wrong = 0;        ///< how many there are
  size_t named = 0, unnamed = 0;      ///< of the wrong ones: told rightly what is wrong; rejected without a name
  size_t falsely = 0, accepted = 0;   ///< of the wrong ones: named falsely; passed
  size_t refused = 0;                 ///< of the right ones: failed
  std::vector<std::string> problems;  ///< a sentence each; also where a version was named, and is no longer
};

/// As the build writes them from tests/learner/naming/NN_name.toml. \throws FileError
std::vector<FreeVersion> free_versions(const std::filesystem::path& file);

/// Grades every version with `runner`, which holds them all.
Naming naming(const Lesson& lesson, const std::filesystem::path& runner, const std::vector<FreeVersion>& versions);

/// A table, a lesson a line, and what went wrong below it.
std::string to_string(const std::vector<Naming>& lessons);

}  // namespace rungs
