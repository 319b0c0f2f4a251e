#include "workspace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "rungs/base/file.hpp"
#include "rungs/base/hash.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/shell.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/text.hpp"
#include "suggest.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<Lesson> all_lessons() { return find_lessons(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR); }

std::vector<Lesson> all_stretches() { return find_stretches(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR); }

static std::vector<Lesson> lessons_and_stretches() {
  std::vector<Lesson> all = all_lessons();
  for (Lesson& stretch : all_stretches()) all.push_back(std::move(stretch));
  return all;
}

/// What names a lesson: of a file its name, without the ending.
static std::string lesson_word(const std::string& word) {
  const bool is_file = word.ends_with(".cpp") || word.ends_with(".cu") || word.find('/') != word.npos;
  return is_file ? fs::path(word).stem().string() : word;
}

Lesson lesson_called(const std::string& typed_word) {
  const std::string word = lesson_word(typed_word);
  const std::vector<Lesson> lessons = lessons_and_stretches();
  const auto without_zeros = [](const std::string& s) {
    return s.substr(std::min(s.find_first_not_of('0'), s.size()));
  };
  const bool is_number = !word.empty() && word.size() <= 3 && std::all_of(word.begin(), word.end(), ::isdigit);
  std::vector<std::string> names;
  for (const Lesson& l : lessons) {
    const std::string what = l.name.substr(l.name.find('_') + 1);  // "causal_mask"
    if (without_zeros(l.short_name()) == without_zeros(word) || what == word) return l;
    if (!is_number && !word.empty() && l.name.starts_with(word)) return l;
    names.insert(names.end(), {l.name, what});
  }
  throw UsageError(
      fmt::format("no lesson is called {}{}; `{} list` shows them all", word, did_you_mean(word, names), typed()));
}

Lesson lesson_or_last(const std::string& word) {
  if (!word.empty()) return lesson_called(word);
  std::vector<std::pair<fs::file_time_type, Lesson>> there;
  for (Lesson& l : lessons_and_stretches())
    if (fs::exists(l.mine)) there.emplace_back(fs::last_write_time(l.mine), std::move(l));
  if (there.empty())
    throw UsageError(fmt::format("there is no file of a lesson in {} yet; `{} start 01` makes the first",
                                 short_path(work_directory(RUNGS_SOURCE_DIR)), typed()));
  return std::max_element(there.begin(), there.end(), [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

std::optional<Lesson> stretch_of(const Lesson& lesson) {
  for (const Lesson& stretch : all_stretches())
    if (stretch.short_name() == lesson.short_name() + "s") return stretch;
  return std::nullopt;
}

std::string stretch_word(const std::string& word) {
  if (word.empty()) throw UsageError("--stretch is of a lesson: say which, as in ./rungs check 07 --stretch");
  const Lesson lesson = lesson_called(word);
  if (lesson.is_stretch()) return lesson.name;
  if (const auto stretch = stretch_of(lesson)) return stretch->name;
  std::vector<std::string> others;
  for (const Lesson& stretch : all_stretches()) others.push_back(stretch.name.substr(0, 2));
  throw UsageError(fmt::format("{} has no stretch{}", lesson.name,
                               others.empty() ? ": this copy of Rungs is a handout, which has none"
                                              : "; there is one of lessons " + join(others)));
}

std::optional<Lesson> lesson_after(const Lesson& lesson) {
  const std::vector<Lesson> lessons = all_lessons();
  for (size_t i = 0; i + 1 < lessons.size(); ++i)
    if (lessons[i].name == lesson.name) return lessons[i + 1];
  return std::nullopt;
}

std::string model_of(const Lesson& lesson) {
  const int number = lesson.number();
  if (number == 14) return "";
  return number <= 8 ? "decoder" : number <= 13 ? "hybrid/" + lesson.name : "stories";
}

std::string nothing_there(const Lesson& lesson) {
  const fs::path folder = lesson.mine.parent_path();
  std::string renamed;
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(lesson.short_name() + "_") && name.find(".before_reset_") == name.npos)
        renamed = fmt::format(" ({} is there; is that it?)", short_path(entry.path()));
    }
  return fmt::format("{} is not there{}; `{} start {}` makes it", short_path(lesson.mine), renamed, typed(),
                     lesson.short_name());
}

std::string typed() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/rungs").c_str(), X_OK) == 0) return "rungs";
  std::error_code none;
  const std::string near = fs::proximate(RUNGS_SOURCE_DIR "/rungs", none).string();
  return near.find('/') == near.npos ? "./" + near : near;
}

std::string short_path(const fs::path& path) {
  const std::string inside = fs::relative(path, RUNGS_SOURCE_DIR).string();
  return inside.starts_with("..") ? path.string() : inside;
}

Alone::Alone(const fs::path& file, const std::string& waits_for) {
  fs::create_directories(file.parent_path());
  file_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  if (!waits_for.empty()) fmt::print(stderr, "Waiting for {} ...\n", waits_for);
  while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

Alone::~Alone() { close(file_); }

Alone alone_with(const Lesson& lesson) {
  return Alone(fs::path(RUNGS_BINARY_DIR) / "mine" / (lesson.name + ".lock"), "another check of " + lesson.name);
}

namespace {

/// How far a build is: a bar at a terminal, elsewhere a line when it is more than a file and its program.
class BuildProgress {
 public:
  explicit BuildProgress(const std::vector<std::string>& targets)
      : label_(fmt::format("Building {}", targets.size() > 2 ? "the lessons" : targets[0])), bar_(label_, 0) {}

  /// A line of the build tool: "[3/12] Building CXX object ...".
  void read(const std::string& line) {
    int done = 0, total = 0;
    if (std::sscanf(line.c_str(), "[%d/%d]", &done, &total) != 2 || line.find("globbed") != line.npos) return;
    bar_.set(done, total);
    if (total > 2 && !said_ && !is_terminal(stderr)) fmt::print(stderr, "{} ...\n", label_);
    said_ = said_ || total > 2;
  }

 private:
  std::string label_;
  Progress bar_;
  bool said_ = false;
};

}  // namespace

/// A compiler takes up to 0.6 GB and half a minute; a file that includes /dev/zero, or a template without end, takes
/// all there is.
#if defined(__SANITIZE_ADDRESS__)
static constexpr const char* limits_of_compiling = "ulimit -t 300; ";  // its programs reserve more than they use
#else
static constexpr const char* limits_of_compiling = "ulimit -v 3000000; ulimit -t 300; ";
#endif

Build build(const std::vector<std::string>& targets, bool limited) {
  const Alone lock(RUNGS_BINARY_DIR "/.building");
  std::string command = limited ? limits_of_compiling : "";
  command += "cmake --build '" RUNGS_BINARY_DIR "' --target";
  for (const std::string& target : targets) command += " " + target;
  BuildProgress progress(targets);
  const Ran ran = run_command(command + " 2>&1 </dev/null", [&](const std::string& line) { progress.read(line); });
  return {ran.status == 0, ran.output};
}

void write_include(const std::string& file, const fs::path& path) {
  write_where_different(fs::path(RUNGS_BINARY_DIR) / "mine" / file, fmt::format("#include \"{}\"\n", path.string()));
}

void stand_on_own_files(const Lesson& lesson) {
  for (const std::string& name : lesson.builds_on) {
    const Lesson below = lesson_called(name);
    if (below.has_solution()) continue;
    if (!passes(below))
      throw UsageError(fmt::format("{} builds on your own {}, which does not pass yet: `{} {} {}` first", lesson.name,
                                   name, typed(), fs::exists(below.mine) ? "check" : "start", below.short_name()));
    write_include(name + "_below.cpp", below.mine);
    stand_on_own_files(below);
  }
}

Build build_mine(Lesson& lesson, const std::string& on) {
  stand_on_own_files(lesson);
  write_include(lesson.name + ".cpp", lesson.mine);
  const std::string nvccs = on == "emulator" ? "" : "_" + on;
  std::vector<std::string> targets = {lesson.name + "_mine" + nvccs};
  if (lesson.has_solution()) targets.push_back(lesson.name + "_mistakes");
  Build b = build(targets, true);
  // What the compiler said of the file is kept: where nothing has changed it says nothing.
  const fs::path said = fs::path(RUNGS_BINARY_DIR) / "mine" / (lesson.name + nvccs + ".said");
  if (b.output.find("mine/" + lesson.name + ".cpp.") != b.output.npos)
    write_where_different(said, b.output);
  else if (b.ok && fs::exists(said))
    b.output = read_text(said);
  if (b.ok) lesson = lesson_called(lesson.name);  // with the list of mistakes that was just made
  lesson.mine_runner += nvccs;
  return b;
}

void must_build_solution(Lesson& lesson) {
  if (!lesson.has_solution())
    throw UsageError(fmt::format("this copy of Rungs is a handout, without the solution of {}", lesson.name));
  must_build({lesson.name + "_solution", lesson.name + "_mistakes"});
  lesson = lesson_called(lesson.name);
}

void must_build(const std::vector<std::string>& targets) {
  const Build b = build(targets);
  if (!b.ok) throw Error("the lessons do not build:\n" + b.output);
}

void write_where_different(const fs::path& path, const std::string& text) {
  if (fs::exists(path) && read_text(path) == text) return;
  fs::create_directories(path.parent_path());
  write_whole(path, [&](std::ostream& out) { out << text; });
}

static uint64_t content_of(const fs::path& file) { return hash_of(read_text(file)); }

/// Values by the names of lessons. What is there and no record is kept beside it, and said.
static json read_record(const fs::path& file) {
  if (!fs::exists(file)) return json::object();
  json record = json::parse(read_text(file), nullptr, false);
  if (record.is_object()) return record;
  const fs::path kept = file.string() + ".unreadable";
  fs::rename(file, kept);
  fmt::print(stderr, "{} is no JSON object: it is kept as {}, and begins anew.\n", short_path(file), short_path(kept));
  return json::object();
}

static void write_record(const fs::path& file, const json& record) {
  write_where_different(file, pretty(record) + "\n");
}

static fs::path progress_file() { return work_directory(RUNGS_SOURCE_DIR) / "progress.json"; }

void note_progress(const Lesson& lesson, bool passed) {
  json progress = read_record(progress_file());
  if (passed)
    progress[lesson.name] = content_of(lesson.mine);
  else
    progress.erase(lesson.name);
  write_record(progress_file(), progress);
}

Standing standing_of(const Lesson& lesson) {
  if (!fs::exists(lesson.mine)) return Standing::not_started;
  const json progress = read_record(progress_file());
  if (!progress.contains(lesson.name)) return Standing::started;
  return progress[lesson.name] == content_of(lesson.mine) ? Standing::passed : Standing::changed;
}

static fs::path hints_file() { return work_directory(RUNGS_SOURCE_DIR) / "hints.json"; }

size_t hints_read(const Lesson& lesson) {
  const json record = read_record(hints_file());
  const auto it = record.find(lesson.name);
  return it != record.end() && it->is_number_unsigned() ? it->get<size_t>() : 0;
}

void note_hints_read(const Lesson& lesson, size_t count) {
  json record = read_record(hints_file());
  record[lesson.name] = count;
  write_record(hints_file(), record);
}

static bool judged_now(Lesson lesson) {
  if (!fs::exists(lesson.mine)) return false;
  const Alone lock = alone_with(lesson);
  if (!build_mine(lesson).ok) return false;
  return grade(lesson, Suite::evaluate, mine(lesson)).all_passed() &&
         (!lesson.has_cache() || grade(lesson, Suite::kv_evaluate, mine(lesson)).all_passed());
}

bool passes(const Lesson& lesson) {
  if (standing_of(lesson) == Standing::passed) return true;
  const bool passed = judged_now(lesson);
  note_progress(lesson, passed);
  return passed;
}

}  // namespace rungs
