// rungs cases new: cases of other numbers and shapes, by the scripts that made the references. Its folder is laid out
// as weights/ is, so that it takes the place of that.
#include "hidden_cases.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "../lesson_range.hpp"
#include "../workspace.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/shell.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/text.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

constexpr int64_t seed_of_references = 2024;  // SEED of weights/references/values.py
constexpr int last_lesson = 13;

void require_torch() {
  if (run_command("python3 -c 'import numpy, torch' 2>&1 </dev/null").status != 0)
    throw UsageError(
        "cases are made by the scripts of the references, which need PyTorch and NumPy, and python3 finds none: "
        "`apt-get "
        "install python3-torch`, or a python3 that has them first in the PATH");
}

std::vector<Lesson> lessons_with_scripts(const std::string& words) {
  const std::vector<Lesson> lessons = lessons_in_range(all_lessons(), words);
  for (const Lesson& l : lessons)
    if (l.number() > last_lesson)
      throw UsageError(fmt::format("there are hidden cases of lessons 01 to {} alone, and {} is none of these",
                                   last_lesson, l.name));
  return lessons;
}

void make_cases(const fs::path& script, const CasesCommand& command, const std::vector<Lesson>& lessons,
                const fs::path& out) {
  std::string words;
  for (const Lesson& l : lessons) words += " " + l.name;
  Progress progress("making cases", int64_t(lessons.size()));
  const auto hear = [&](const std::string& line) {
    if (line.ends_with(" cases\n")) progress.advance();
  };
  const Ran ran = run_command(fmt::format("python3 {} --seed {} --out {} --lesson{} 2>&1 </dev/null",
                                          shell_word(script), command.seed, shell_word(out), words),
                              hear);
  if (ran.status != 0) throw Error("the scripts of the references ended with an error:\n" + ran.output);
}

/// The models that cases name, where the scripts have not made them anew.
void add_models(const fs::path& out) {
  const fs::path weights = fs::path(RUNGS_SOURCE_DIR) / "weights";
  for (const char* folder : {"decoder", "hybrid", "stories", "tokenizers"})
    fs::copy(weights / folder, out / folder, fs::copy_options::recursive);
}

}  // namespace

int new_cases(const CasesCommand& command) {
  if (command.seed == seed_of_references)
    throw UsageError(fmt::format("--seed {} makes the cases that everybody has: take another", command.seed));
  const fs::path script = fs::path(RUNGS_SOURCE_DIR) / "weights/make_references.py", out = fs::absolute(command.out);
  if (!fs::exists(script)) throw UsageError("this copy of Rungs is a handout, without the scripts that make cases");
  const std::vector<Lesson> lessons = lessons_with_scripts(command.lessons);
  if (fs::exists(out) && (!fs::is_directory(out) || !fs::is_empty(out)))
    throw UsageError(fmt::format("{} is there and not empty; cases are written into a new folder", command.out));
  require_torch();
  const fs::path part = (out.has_filename() ? out : out.parent_path()).string() + fmt::format(".part{}", getpid());
  try {
    make_cases(script, command, lessons, part / "references");
    add_models(part);
    fs::remove(out);  // empty, or not there
    fs::rename(part, out);
  } catch (...) {
    std::error_code none;
    fs::remove_all(part, none);
    throw;
  }
  size_t count = 0;
  for (const Lesson& l : lessons)
    count += size_t(std::distance(fs::directory_iterator(out / "references" / l.name), fs::directory_iterator()));
  fmt::print("{}: {} cases of {} lessons. `{} grade --cases {}` grades on them.\n", command.out, count, lessons.size(),
             typed(), command.out);
  return 0;
}

GradeOptions with_hidden_cases(GradeOptions options) {
  const fs::path cases = fs::absolute(options.cases);
  if (!fs::is_directory(cases / "references"))
    throw UsageError(fmt::format("--cases: wanted a folder that `{} cases new` has written, found none at {}", typed(),
                                 options.cases));
  setenv("RUNGS_WEIGHTS", cases.c_str(), 1);  // before anybody asks; runners have it, too
  std::vector<std::string> there;
  for (const Lesson& l : all_lessons())
    if (fs::exists(cases / "references" / l.name)) there.push_back(l.name);
  if (options.lessons.empty()) options.lessons = there;
  for (std::string& word : options.lessons) {
    word = lesson_called(word).name;
    if (std::find(there.begin(), there.end(), word) == there.end())
      throw UsageError(fmt::format("--cases: {} has no cases of {}, only of {}", options.cases, word, join(there)));
  }
  return options;
}

}  // namespace rungs
