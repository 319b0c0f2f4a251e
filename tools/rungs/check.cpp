// check: build the learner's file, grade it, and say what is wrong with it.
#include "check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "commands.hpp"
#include "compiler_output.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/text.hpp"
#include "rungs/grader/runner.hpp"
#include "sanitizer.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

/// What is said of a file that does not become a program.
std::string build_error(const Lesson& lesson, const std::string& output, bool brief) {
  const std::string file = short_path(lesson.mine);
  if (const std::string missing = missing_functions(output); !missing.empty())
    return fmt::format("{} lacks a function that lesson.hpp declares:\n{}", file, missing);
  if (compiler_output(output).empty())  // it was never asked
    return fmt::format("{}{} was not built: `cmake --build {} --target {}` says more.\n", output, file,
                       short_path(RUNGS_BINARY_DIR), lesson.mine_runner.filename().string());
  if (brief) return fmt::format("{}\n{} does not compile.\n", first_error(output, lesson.mine, file), file);
  return fmt::format("{}\n{} does not compile; the first error above is the one to look at.\n", compiler_output(output),
                     file);
}

/// Says on stderr that a case takes long, so that nobody looks at nothing; it is stopped in the end.
class SlowCase {
 public:
  explicit SlowCase(const RunnerLimits& limits) : seconds_(limits.milliseconds / 1000) {}
  ~SlowCase() {
    begins("");
    over_ = true, changed_.notify_one();
    thread_.join();
  }
  void begins(const std::string& name) {
    const std::lock_guard lock(mutex_);
    name_ = name, begin_ = std::chrono::steady_clock::now();
    changed_.notify_one();
  }

 private:
  void look() {
    std::unique_lock lock(mutex_);
    std::string said;
    while (!over_) {
      changed_.wait_for(lock, std::chrono::milliseconds(500));
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
      if (name_.empty() || name_ == said || seconds < 2) continue;
      fmt::print(stderr, "{} is still running; after {} s it is stopped.\n", name_, seconds_);
      said = name_;
    }
  }

  int seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string name_ = {};
  std::chrono::steady_clock::time_point begin_ = {};
  std::atomic<bool> over_ = false;
  std::thread thread_{[this] { look(); }};
};

/// Looks for accesses out of bounds, which may give right numbers all the same: in the case that is told of, and in the
/// largest of each function. Adds to the text.
void look_with_sanitizer(Checked& checked, const Lesson& lesson, const Grade& grade) {
  const auto endless = [](const Verdict& v) { return v.outcome.too_late; };
  if (std::any_of(grade.verdicts.begin(), grade.verdicts.end(), endless)) return;
  std::vector<std::string> cases;
  if (!grade.all_passed()) cases.push_back(grade.cases[case_to_tell(grade)].input.name);
  for (const Case& c : largest_cases_of(lesson)) cases.push_back(c.input.name);
  const Sanitized s = sanitize(lesson, cases, fs::weakly_canonical(RUNGS_NVCC).parent_path());
  if (s.how == Sanitized::clean)
    checked.text += "compute-sanitizer saw no access out of bounds.\n";
  else if (s.how == Sanitized::not_watched)
    checked.text += fmt::format("Not watched by compute-sanitizer: {}.\n", s.says);
  else
    checked.text += wrapped("compute-sanitizer: " + s.says + ".", 78, "") + "\n";
  checked.passed = checked.passed && s.how != Sanitized::found;
}

}  // namespace

Checked check_file(Lesson& lesson, bool colour, bool brief, const std::string& on) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const Alone lock = alone_with(lesson);
  const Build b = build_mine(lesson, on);
  const double built = seconds();
  if (!b.ok) return {false, build_error(lesson, b.output, brief), built, 0};
  Candidate candidate = mine(lesson);
  if (on == "gpu") candidate.limits = limits_on_gpu();
  SlowCase slow(candidate.limits);
  const Waiting waiting{true, [&](const Case& c) { slow.begins(c.input.name); }, [&] { slow.begins(""); }};
  Grade last = grade(lesson, Suite::evaluate, candidate, waiting);
  std::string text = warnings(b.output) + screen(last, colour);
  if (last.all_passed() && lesson.has_cache()) {
    last = grade(lesson, Suite::kv_evaluate, candidate, waiting);
    text += "\n" + screen(last, colour);
  }
  if (on == "emulator") note_progress(lesson, last.all_passed());
  if (!last.all_passed() && on != "emulator")
    text += fmt::format("`{} check {}` looks for races, too, and knows more mistakes by what its checker says.\n",
                        typed(), lesson.short_name());
  else if (!last.all_passed() && last.verdicts[case_to_tell(last)].outcome.how == Outcome::done)
    text += fmt::format("`{} show {} --diff` draws yours beside the reference.\n", typed(), lesson.short_name());
  Checked checked{last.all_passed(), text, built, 0};
  if (on == "gpu") look_with_sanitizer(checked, lesson, last);
  checked.grade_seconds = seconds() - built;
  return checked;
}

void require_place(const Lesson& lesson, const std::string& on) {
  if (!lesson.has_kernels()) throw UsageError(fmt::format("{} has no kernels, which --on {} is for", lesson.name, on));
  const std::string no_nvcc = on == "ptx" ? RUNGS_NO_PTX : RUNGS_NO_GPU;
  if (!no_nvcc.empty())
    throw UsageError(fmt::format(
        "--on {} runs what nvcc makes of your file: {}. Without it the emulator runs your file", on, no_nvcc));
  if (on == "gpu" && !fs::exists("/dev/nvidiactl") && !fs::exists("/dev/dxg"))
    throw UsageError("--on gpu: this machine has no GPU of NVIDIA's, or no driver for it; --on ptx needs none");
  if (read_text(lesson.mine).find("not_written(") != std::string::npos)
    throw UsageError(fmt::format("{} has steps that are not written yet; `{} check {}` checks it as far as it is",
                                 short_path(lesson.mine), typed(), lesson.short_name()));
}

int check_lesson(const CheckCommand& command) {
  Lesson lesson = lesson_or_last(command.lesson);
  if (!fs::exists(lesson.mine)) throw UsageError("there is nothing to check: " + nothing_there(lesson));
  const bool by_nvcc = command.on != "emulator";
  if (by_nvcc) require_place(lesson, command.on);
  const Checked checked = check_file(lesson, wants_colour(stdout), false, command.on);
  fmt::print("{}", checked.text);
  if (!checked.passed) return 1;
  if (by_nvcc) {
    const bool passed = standing_of(lesson) == Standing::passed;
    fmt::print("\nWhat nvcc makes of your file is right{}.\n",
               passed ? "" : fmt::format("; `{} check {}` looks for races, too", typed(), lesson.short_name()));
    return 0;
  }

  fmt::print("\nPassed.{}",
             lesson.has_solution() ? fmt::format(" Compare yours with {}.", short_path(lesson.solution)) : "");
  if (lesson.is_stretch()) fmt::print(" A stretch counts nowhere: `{} progress` leaves it out.", typed());
  if (const auto next = lesson_after(lesson)) fmt::print(" Next: {} start {}", typed(), next->short_name());
  if (const auto stretch = stretch_of(lesson); stretch && !fs::exists(stretch->mine))
    fmt::print("\nOr a stretch, {}: {} start {} --stretch", stretch->title, typed(), lesson.short_name());
  fmt::print("\n");
  return 0;
}

}  // namespace rungs
