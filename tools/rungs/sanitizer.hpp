/// compute-sanitizer, which comes with the CUDA toolkit, on the runner of a learner's file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// What its tool memcheck says: accesses out of bounds, misaligned, or of memory that was freed.
struct Sanitized {
  enum { clean, found, not_watched } how = not_watched;
  std::string says;  ///< for found, what, by which thread and in which line; for not_watched why
};

/// Reads its log. `file`: the learner's, whose lines are named.
Sanitized read_sanitizer_log(const std::string& log, const std::filesystem::path& file);

/// Runs one saved case of the lesson after the other under it, each within seconds_on_gpu, up to the first report.
/// `beside`: the folder of nvcc, where it is looked for after the PATH.
Sanitized sanitize(const Lesson& lesson, const std::vector<std::string>& cases, const std::filesystem::path& beside);

}  // namespace rungs
