/// What a class gets: the results of all submissions, as tables and as a page.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rungs/grader/draw.hpp"
#include "rungs/grader/lesson.hpp"
#include "submission.hpp"
#include "submission_build.hpp"

namespace rungs {

/// A lesson that is graded: how its files are built, how many cases it has, and what was drawn for them.
struct GradedLesson {
  Lesson lesson;
  Recipe recipe;
  size_t cases = 0;  ///< of all its suites
  DrawnCases drawn = {};
};

/// Builds and grades the files of one submission, each behind walls, in `folder`, which is made and is gone afterwards.
/// The result is what the files in results/ hold; docs/grading.md describes it. Never throws for what a submission
/// does.
nlohmann::json grade_submission(const Submission& submission, const std::vector<GradedLesson>& lessons,
                                const std::filesystem::path& folder);

/// The result of a submission for which there is no more than a sentence.
nlohmann::json without_points(const Submission& submission, const std::vector<GradedLesson>& lessons,
                              const std::string& problem);

/// \name A report on all results
/// `walls`: what stood around the submissions, one sentence.
///@{
std::string class_csv(const nlohmann::json& results);
nlohmann::json class_summary(const nlohmann::json& results, const std::string& walls);
std::string class_page(const nlohmann::json& summary);
std::string class_junit(const nlohmann::json& results);
///@}

}  // namespace rungs
