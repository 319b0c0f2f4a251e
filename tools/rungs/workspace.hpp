/// Lessons by what a learner calls them, and the learner's files: building them, and remembering which of them passed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rungs/grader/grade.hpp"
#include "rungs/grader/lesson.hpp"

namespace rungs {

/// Of this build. A stretch is no lesson: it is left out wherever lessons are listed, graded and counted.
std::vector<Lesson> all_lessons();
std::vector<Lesson> all_stretches();

/// "6", "06", "06_causal_mask", "06_causal" and the file's name, "work/06_causal_mask.cpp", all name the same lesson;
/// "06s" its stretch. \throws UsageError
Lesson lesson_called(const std::string& word);

/// The stretch of a lesson, where it has one.
std::optional<Lesson> stretch_of(const Lesson& lesson);

/// What `word` and --stretch mean together: the word for the stretch of that lesson. \throws UsageError
std::string stretch_word(const std::string& word);

/// The same; "" is the lesson whose file was saved last. \throws UsageError
Lesson lesson_or_last(const std::string& word);

/// The next in order, where there is one.
std::optional<Lesson> lesson_after(const Lesson& lesson);

/// The trained model whose vocabulary a lesson's program reads a text with, under weights/; "": it reads bytes.
std::string model_of(const Lesson& lesson);

/// Why there is no file of the lesson, with what was probably renamed: an error's sentence.
std::string nothing_there(const Lesson& lesson);

/// How a learner calls this program: "rungs" where the PATH has it, else "./rungs", seen from the current folder.
std::string typed();

/// Relative to the source tree for what is in it.
std::string short_path(const std::filesystem::path& path);

/// While this object lives no other program holds the same file's lock; whoever comes second waits, and says what for.
class Alone {
 public:
  explicit Alone(const std::filesystem::path& file, const std::string& waits_for = "");
  ~Alone();
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  int file_;
};
/// From the build of a learner's file to the end of its cases: the program under grade stays as it is.
Alone alone_with(const Lesson& lesson);

struct Build {
  bool ok;
  std::string output;
};
/// Says what it builds, and how far it is, where that takes a while. Waits for a build that runs already. `limited`: in
/// memory and time, for what may never come to an end.
Build build(const std::vector<std::string>& targets, bool limited = false);
/// Makes a file of a build, which stays as it is where it would not change.
void write_where_different(const std::filesystem::path& path, const std::string& text);
/// A target of the build compiles `file`; what it includes is the learner's, wherever that stands.
void write_include(const std::string& file, const std::filesystem::path& path);
/// In a handout, a lesson builds on the learner's own files of the lessons below it: says which they are to what is
/// built next. \throws UsageError where one does not pass
void stand_on_own_files(const Lesson& lesson);
/// Builds the runner of the learner's file; then the lesson knows its mistakes. `on`: "emulator", which is also where a
/// lesson without kernels is; "ptx", "gpu": the runner of what nvcc makes of it.
Build build_mine(Lesson& lesson, const std::string& on = "emulator");
/// Builds the runners of the solution and of the known mistakes. \throws Error as must_build, UsageError in a handout.
void must_build_solution(Lesson& lesson);
/// \throws Error with the output, for something that ought to build
void must_build(const std::vector<std::string>& targets);

/// Puts the lesson's starter into place; `signatures`: blank, as blank.hpp has it. \throws Error as must_build,
/// FileError
void copy_starter(const Lesson& lesson, bool signatures = false);
/// The same where the learner's file is; gives the path that keeps what it was.
std::filesystem::path put_starter_back(const Lesson& lesson);

/// How far the learner is with a lesson. A pass is remembered with the content that passed.
enum class Standing { not_started, started, passed, changed };
Standing standing_of(const Lesson& lesson);
void note_progress(const Lesson& lesson, bool passed);

/// How many of the page's hints the learner has read; remembered in the work folder.
size_t hints_read(const Lesson& lesson);
void note_hints_read(const Lesson& lesson, size_t count);

/// The learner's file passes every suite of its lesson: judged now, unless this very content has passed before.
bool passes(const Lesson& lesson);

}  // namespace rungs
