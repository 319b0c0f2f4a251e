// One submission: built, graded, and put into words that a script and a page can take.
#include <fmt/format.h>

#include <chrono>

#include "class_result.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/text.hpp"
#include "rungs/grader/grade.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Several lines of a learner's or a compiler's, without what commands a terminal.
std::string printable_lines(const std::string& text, size_t most = 4000) {
  std::string shown;
  for (size_t begin = 0, end; begin < text.size() && shown.size() < most; begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    shown += printable(std::string_view(text).substr(begin, end - begin)) + "\n";
  }
  return shown.substr(0, most);
}

void add_suite(json& result, const Lesson& lesson, const DrawnCases& drawn, Suite suite, const std::string& called) {
  Candidate candidate = mine(lesson);
  candidate.called = called;
  candidate.limits.enclosed = true;
  candidate.drawn = &drawn;
  const Grade g = grade(lesson, suite, candidate);
  // The checker knows the file by where its copy is compiled.
  const std::string copy = (lesson.mine.parent_path().filename() / lesson.mine.filename()).string();
  const auto says = [&](std::string text) {
    for (size_t at = 0; (at = text.find(copy, at)) != text.npos; at += called.size())
      text.replace(at, copy.size(), called);
    return text;
  };
  for (size_t i = 0; i < g.cases.size(); ++i)
    result["cases"].push_back({{"case", g.cases[i].input.name},
                               {"suite", g.suite},
                               {"passed", g.verdicts[i].pass},
                               {"sentence", says(printable(g.verdicts[i].summary))}});
  for (const KnownMistake* m : g.diagnosis.named) result["mistakes"].push_back({{"name", m->name}, {"says", m->says}});
  result["passed"] = result["passed"].get<size_t>() + g.passed;
  result["story"] = result["story"].get<std::string>() + says(printable_lines(g.story));
}

json empty_result(const GradedLesson& l) {
  return {{"lesson", l.lesson.name},
          {"file", ""},
          {"problem", ""},
          {"passed", 0},
          {"total", l.cases},
          {"seconds", 0.0},
          {"cases", json::array()},
          {"mistakes", json::array()},
          {"story", ""}};
}

/// A submission that repairs its copy of the file, or fills the disk, has only its own folder for it.
json grade_lesson(const Submission& submission, const GradedLesson& graded, const fs::path& folder, bool only) {
  json result = empty_result(graded);
  const auto begin = std::chrono::steady_clock::now();
  try {
    Lesson lesson = graded.lesson;
    const SubmittedFile& file = file_of_lesson(submission, lesson.name, lesson.ending, only);
    const std::string called = printable(file.path);
    result["file"] = called;
    lesson.mine = folder / (lesson.name + lesson.ending), lesson.mine_runner = folder / (lesson.name + "_mine");
    write_whole(lesson.mine, [&](std::ostream& out) { out << file.text; });
    const SubmissionBuild built = build_submission(graded.recipe, lesson.mine, lesson.mine_runner, called);
    if (!built.problem.empty()) {
      result["problem"] = printable_lines(built.problem);
    } else {
      add_suite(result, lesson, graded.drawn, Suite::evaluate, called);
      if (lesson.has_cache()) add_suite(result, lesson, graded.drawn, Suite::kv_evaluate, called);
    }
  } catch (const std::exception& e) {
    result["problem"] = printable(e.what());
  }
  result["seconds"] = seconds_since(begin);
  return result;
}

json result_of(const Submission& submission, json lessons) {
  size_t passed = 0, total = 0;
  double seconds = 0;
  for (const json& l : lessons)
    passed += l["passed"].get<size_t>(), total += l["total"].get<size_t>(), seconds += l["seconds"].get<double>();
  return {{"name", submission.name},
          {"from", printable(submission.from.filename().string())},
          {"problem", submission.problem},
          {"passed", passed},
          {"total", total},
          {"seconds", seconds},
          {"lessons", std::move(lessons)}};
}

}  // namespace

json without_points(const Submission& submission, const std::vector<GradedLesson>& lessons,
                    const std::string& problem) {
  json list = json::array();
  for (const GradedLesson& l : lessons) list.push_back(empty_result(l));
  json result = result_of(submission, std::move(list));
  result["problem"] = printable(problem);
  return result;
}

json grade_submission(const Submission& submission, const std::vector<GradedLesson>& lessons, const fs::path& folder) {
  if (!submission.problem.empty()) return without_points(submission, lessons, submission.problem);
  fs::create_directories(folder);
  json list = json::array();
  for (const GradedLesson& l : lessons) list.push_back(grade_lesson(submission, l, folder, lessons.size() == 1));
  fs::remove_all(folder);
  return result_of(submission, std::move(list));
}

}  // namespace rungs
