// grade --submissions: a whole class, several at a time; what was graded stays graded when it is run again.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "child_processes.hpp"
#include "class_result.hpp"
#include "commands.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/hash.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/text.hpp"
#include "rungs/grader/enclosure.hpp"
#include "rungs/grader/suites.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// The lessons asked for; where none is, those that anybody handed in.
std::vector<Lesson> lessons_of_class(const std::vector<std::string>& words,
                                     const std::vector<Submission>& submissions) {
  std::vector<Lesson> lessons;
  for (const std::string& word : words) lessons.push_back(lesson_called(word));
  if (!words.empty()) return lessons;
  const auto is_in = [](const Submission& s, const Lesson& l) {
    return std::any_of(s.files.begin(), s.files.end(), [&](const SubmittedFile& f) {
      return fs::path(f.path).filename().string().find(l.name) != std::string::npos;
    });
  };
  for (Lesson& l : all_lessons())
    if (std::any_of(submissions.begin(), submissions.end(), [&](const Submission& s) { return is_in(s, l); }))
      lessons.push_back(std::move(l));
  return lessons;
}

std::vector<GradedLesson> prepare(std::vector<Lesson> lessons, uint64_t seed) {
  std::vector<GradedLesson> graded;
  for (Lesson& l : lessons) {
    GradedLesson g{l, recipe_of(l), cases_of(l, Suite::evaluate).size(), draw_cases(l, seed)};
    if (l.has_cache()) g.cases += cases_of(l, Suite::kv_evaluate).size();
    g.lesson = lesson_called(l.name);  // with the list of mistakes that was just made
    graded.push_back(std::move(g));
  }
  return graded;
}

/// What a result depends on.
std::string content_of(const Submission& s, const std::vector<GradedLesson>& lessons) {
  std::string all = RUNGS_VERSION "\n" + s.problem;
  for (const GradedLesson& l : lessons) all += "\n" + l.lesson.name + fmt::format(" {}", l.cases);
  for (const SubmittedFile& f : s.files) all += fmt::format("\n{} {}\n", f.path, f.text.size()) + f.text;
  return fmt::format("{:016x}", hash_of(all));
}

/// A submission and where its result stands.
struct Task {
  const Submission* submission;
  std::string content;
  fs::path result, folder;
};

void write_result(const Task& task, json result) {
  result["content"] = task.content;
  write_whole(task.result, [&](std::ostream& out) { out << pretty(result) << "\n"; });
}

std::vector<Task> tasks_of(const std::vector<Submission>& submissions, const std::vector<GradedLesson>& lessons,
                           const fs::path& report) {
  std::vector<Task> tasks;
  for (const Submission& s : submissions) {
    constexpr size_t most = 200;  // of a file's name
    const std::string name = s.name.size() > most ? fmt::format("{:016x}", hash_of(s.name)) : s.name;
    tasks.push_back({&s, content_of(s, lessons), report / "results" / (name + ".json"),
                     report / "work" / fmt::format("{:016x}", hash_of(s.name))});
  }
  return tasks;
}

bool is_done(const Task& task) {
  if (!fs::exists(task.result)) return false;
  const json result = json::parse(read_text(task.result), nullptr, false);
  return result.is_object() && result.value("content", json()) == task.content;
}

void grade_all(const std::vector<Task>& tasks, const std::vector<GradedLesson>& lessons, size_t jobs) {
  Progress progress("Grading", int64_t(tasks.size()));
  const auto grade_one = [&](size_t i) {
    const Task& task = tasks[i];
    try {
      write_result(task, grade_submission(*task.submission, lessons, task.folder));
      return 0;
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}: {}\n", task.submission->name, printable(e.what()));
      return 1;
    }
  };
  in_child_processes(tasks.size(), jobs, grade_one, [&](size_t i, int status) {
    if (status != 0)
      write_result(tasks[i], without_points(*tasks[i].submission, lessons,
                                            fmt::format("The grader itself ended on it, with status {}.", status)));
    progress.advance();
  });
}

void write_reports(const fs::path& report, const json& results, bool junit) {
  const auto write = [&](const char* name, const std::string& text) {
    write_whole(report / name, [&](std::ostream& out) { out << text; });
  };
  const json summary = class_summary(results, walls_sentence());
  write("class.csv", class_csv(results));
  write("class.json", pretty(summary) + "\n");
  write("class.html", class_page(summary));
  if (junit) write("junit.xml", class_junit(results));
}

}  // namespace

int grade_class(const GradeOptions& options) {
  const fs::path report = fs::absolute(options.out);
  std::vector<std::string> ignored;
  const std::vector<Submission> submissions = submissions_in(options.submissions, ignored);
  if (submissions.empty())
    throw UsageError(fmt::format("{} holds no submission: wanted files, folders or archives", options.submissions));
  if (!ignored.empty()) fmt::print(stderr, "Not looked at: {}\n", join(ignored));
  fmt::print(stderr, "{}\n", walls_sentence());
  const uint64_t seed = options.draw_seed ? options.draw_seed : std::random_device()();
  fmt::print(stderr, "Inputs are drawn for this grade, too: --draw-seed {} draws the same again.\n", seed);
  const std::vector<GradedLesson> lessons = prepare(lessons_of_class(options.lessons, submissions), seed);
  if (lessons.empty())
    throw UsageError("no submission has a file of a lesson, such as 06_causal_mask.cpp; --lesson NN says which it is");
  if (!has_walls() && !options.without_walls)
    throw UsageError("without walls nothing is graded; --without-walls: where submissions may do what you may do");

  fs::create_directories(report / "results");
  const Alone alone(report / ".lock", "another grading into " + report.string());
  const std::vector<Task> all = tasks_of(submissions, lessons, report);
  std::vector<Task> open;
  std::copy_if(all.begin(), all.end(), std::back_inserter(open), [](const Task& t) { return !is_done(t); });
  if (open.size() < all.size())
    fmt::print(stderr, "{} of {} were graded before.\n", all.size() - open.size(), all.size());
  const size_t jobs = options.jobs ? size_t(options.jobs) : default_jobs();
  grade_all(open, lessons, jobs);
  fs::remove_all(report / "work");

  json results = json::array();
  for (const Task& t : all) results.push_back(json::parse(read_text(t.result)));
  write_reports(report, results, options.junit);
  const json summary = class_summary(results, "");
  if (options.json)
    fmt::print("{}\n", pretty(summary));
  else
    fmt::print("{} submissions, {} with every point, {} that do not build. The page: {}\n", all.size(),
               summary["perfect"].get<size_t>(), summary["not_built"].size(), (report / "class.html").string());
  return 0;
}

}  // namespace rungs
