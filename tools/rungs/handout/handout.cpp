// rungs handout: the tree that learners get. It is written beside the folder that was asked for, and becomes it when it
// is whole.
#include "handout.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "../commands.hpp"
#include "../lesson_range.hpp"
#include "../workspace.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/units.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

/// What is handed out whole. Of tests only those that compare with no lesson; docs, bench and the scripts that make
/// references stay here.
constexpr const char* given_files[] = {"CMakeLists.txt",
                                       "CMakePresets.json",
                                       "Makefile",
                                       "LICENSE",
                                       "rungs",
                                       ".clang-format",
                                       ".gitignore",
                                       "lessons/last_words.cpp",
                                       "lessons/kernel_case.cpp",
                                       "lessons/kernel_case.hpp",
                                       "lessons/checked_headers.cpp",
                                       "tests/CMakeLists.txt",
                                       "tests/support.cpp",
                                       "tests/support.hpp",
                                       "tests/contains.hpp"};
constexpr const char* given_folders[] = {"cmake",
                                         "lib",
                                         "kernels",
                                         "tools/rungs",
                                         "tools/lesson_generator",
                                         "tools/includes",
                                         "tools/gdb",
                                         "tests/base",
                                         "tests/tensor",
                                         "tests/ops",
                                         "tests/checkpoint",
                                         "tests/tokenizer",
                                         "tests/generate",
                                         "tests/measure",
                                         "tests/batching",
                                         "tests/analysis",
                                         "weights/decoder",
                                         "weights/hybrid",
                                         "weights/stories",
                                         "weights/tokenizers",
                                         "weights/references/checkpoints",
                                         "weights/references/held_out",
                                         "weights/references/models",
                                         "weights/references/quantized",
                                         "weights/references/tokenizers"};

/// Not what editors, Python and unfinished writes left behind, nor scripts.
bool is_given(const fs::path& file) {
  const std::string name = file.filename();
  return name[0] != '.' && name != "__pycache__" && !name.ends_with("~") && !name.ends_with(".py") &&
         name.find(".part") == name.npos && name != "training.log";
}

void copy_folder(const fs::path& from, const fs::path& to) {
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    if (!is_given(entry.path())) continue;
    const fs::path there = to / entry.path().filename();
    if (entry.is_directory())
      copy_folder(entry.path(), there);
    else if (entry.is_regular_file())
      fs::copy_file(entry.path(), there);
  }
}

void copy_tree(const fs::path& out) {
  const fs::path source = RUNGS_SOURCE_DIR;
  for (const char* folder : given_folders) copy_folder(source / folder, out / folder);
  for (const auto& entry : fs::directory_iterator(source / "tools"))
    if (entry.is_regular_file() && is_given(entry.path()))
      fs::copy_file(entry.path(), out / "tools" / entry.path().filename());
  for (const char* file : given_files) {
    fs::create_directories((out / file).parent_path());
    fs::copy_file(source / file, out / file);
  }
}

/// lessons/CMakeLists.txt without the lessons that are left out.
std::string lesson_list(const std::vector<Lesson>& given) {
  std::istringstream all(read_text(fs::path(RUNGS_SOURCE_DIR) / "lessons/CMakeLists.txt"));
  std::string text;
  for (std::string line; std::getline(all, line);) {
    const bool is_lesson = line.starts_with("add_lesson(");
    const std::string name = is_lesson ? line.substr(11, line.find_first_of(" )") - 11) : "";
    const auto called = [&](const Lesson& l) { return l.name == name; };
    if (!is_lesson || std::any_of(given.begin(), given.end(), called)) text += line + "\n";
  }
  return text;
}

/// A page for learners, with the list of lessons where it says LESSONS.
void write_page(const fs::path& out, const char* name, const std::string& lessons) {
  std::string text =
      read_text(fs::path(RUNGS_SOURCE_DIR) / "tools/rungs/handout" / (std::string("for_learners_") + name));
  if (const size_t at = text.find("LESSONS\n"); at != text.npos) text.replace(at, 8, lessons);
  write_whole(out / name, [&](std::ostream& file) { file << text; });
}

struct Size {
  size_t files = 0;
  int64_t bytes = 0;
};

Size size_of(const fs::path& folder) {
  Size size;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) ++size.files, size.bytes += int64_t(entry.file_size());
  return size;
}

/// A folder that is gone with this object, unless it got another name.
struct Unfinished {
  fs::path path;
  ~Unfinished() {
    std::error_code none;
    fs::remove_all(path, none);
  }
};

}  // namespace

std::vector<Lesson> lessons_to_hand_out(const std::vector<Lesson>& all, const std::string& words) {
  const std::vector<Lesson> given = lessons_in_range(all, words);
  for (const Lesson& l : given) {
    if (!l.has_solution())
      throw UsageError(fmt::format("this copy of Rungs is a handout itself, without the solution of {}", l.name));
    for (const std::string& below : l.builds_on)
      if (std::none_of(given.begin(), given.end(), [&](const Lesson& other) { return other.name == below; }))
        throw UsageError(fmt::format(
            "{} builds on {}, which --lessons {} leaves out: learners build on their own files", l.name, below, words));
  }
  return given;
}

int write_handout(const HandoutCommand& command) {
  const fs::path out = fs::absolute(command.out).lexically_normal();
  const fs::path folder = out.has_filename() ? out : out.parent_path();
  if (fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder)))
    throw UsageError(fmt::format("{} is there and not empty; a handout is written into a new folder", command.out));
  std::vector<std::string> targets;
  for (const Lesson& l : lessons_to_hand_out(all_lessons(), command.lessons)) {
    targets.push_back(l.name + "_mistakes");
    targets.push_back(l.name + "_made");
  }
  must_build(targets);
  const std::vector<Lesson> given = lessons_to_hand_out(all_lessons(), command.lessons);  // with their mistakes

  const Unfinished part{folder.string() + fmt::format(".part{}", getpid())};
  fs::create_directories(part.path);
  copy_tree(part.path);
  const AskedCode asked(all_lessons());
  std::string list;
  {
    Progress progress("recording known mistakes", int64_t(given.size()));
    for (const Lesson& l : given) {
      hand_out_lesson(l, asked, part.path);
      list += fmt::format("* `{}`: {}\n", l.name, l.title);
      progress.advance();
    }
  }
  write_whole(part.path / "lessons/CMakeLists.txt", [&](std::ostream& file) { file << lesson_list(given); });
  write_page(part.path, "README.md", list);
  write_page(part.path, "AGENTS.md", list);
  fs::remove(folder);  // empty, or not there
  fs::rename(part.path, folder);
  const Size size = size_of(folder);
  fmt::print("{}: {} lessons in {} files, {}.\nA plain tree, without a history: `git init` there begins one.\n",
             command.out, given.size(), size.files, in_units(size.bytes));
  return 0;
}

}  // namespace rungs
