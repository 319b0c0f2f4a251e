/// What a class gets: the tree without solutions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "given_code.hpp"
#include "rungs/grader/lesson.hpp"

namespace rungs {

/// Those of `all` that "01-05,14" names. \throws UsageError with what is wrong: a word, a lesson that is not there, one
/// that builds on one left out, one about CUDA
std::vector<Lesson> lessons_to_hand_out(const std::vector<Lesson>& all, const std::string& words);

/// Writes one lesson into the tree `out`: what a learner reads and starts from, its cases, and what its known mistakes
/// answer, which must be built. \throws FileError
void hand_out_lesson(const Lesson& lesson, const AskedCode& asked, const std::filesystem::path& out);

/// A walkthrough without its last part, which shows the solution; what it quotes is of the starter. The heading before
/// a removed part goes with it.
std::string page_without_solution(const std::string& page, const std::string& lesson);

}  // namespace rungs
