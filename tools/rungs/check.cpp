// check: build the learner's file, grade it, and say what is wrong with it.
#include "check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "commands.hpp"
#include "rungs/base/terminal.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

/// What the compiler said, without the build tool's own lines.
std::string compiler_output(const std::string& output) {
  std::string text;
  bool is_command = false;
  for (size_t begin = 0; begin < output.size();) {
    const size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    const auto begins_with = [&](const char* what) { return line.starts_with(what); };
    constexpr const char* of_the_build[] = {"[",
                                            "ninja:",
                                            "FAILED:",
                                            "collect2:",
                                            "clang: error: linker",
                                            "gmake",
                                            "In file included from " RUNGS_BINARY_DIR "/mine/"};
    const bool noise = std::any_of(std::begin(of_the_build), std::end(of_the_build), begins_with);
    if (!noise && !is_command && !line.empty()) text += line + "\n";
    is_command = line.starts_with("FAILED:");  // the next line is
    begin = end + 1;
  }
  return text;
}

/// The first of the warnings that a file which compiles has; "": it has none.
std::string warnings(const std::string& output) {
  constexpr size_t most = 5;
  const std::string text = compiler_output(output);
  size_t end = 0, count = 0, begin = 0;
  for (size_t at = 0; (at = text.find(": warning: ", at)) != text.npos; ++at) {
    if (count == 0) begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    if (++count == most + 1) end = text.rfind('\n', at) + 1;
  }
  if (count == 0) return "";
  const std::string rest = count > most ? fmt::format("and {} more\n", count - most) : "";
  return fmt::format("It compiles, with a warning that may be the reason for what follows:\n{}{}\n",
                     text.substr(begin, end ? end - begin : text.npos), rest);
}

/// The functions that a linker did not find, a line each. GNU ld, gold, lld and mold each have their own words.
std::string missing_functions(const std::string& output) {
  static const std::regex missing("undefined (?:reference to [`']|symbol: )([^\n]*?)'?\n");
  std::set<std::string> lines;
  for (std::sregex_iterator m(output.begin(), output.end(), missing), end; m != end; ++m)
    lines.insert("  " + (*m)[1].str() + "\n");
  return fmt::format("{}", fmt::join(lines, ""));
}

/// What is said of a file that does not become a program.
std::string build_error(const Lesson& lesson, const std::string& output) {
  const std::string file = short_path(lesson.mine);
  if (const std::string missing = missing_functions(output); !missing.empty())
    return fmt::format("{} lacks a function that lesson.hpp declares:\n{}", file, missing);
  return fmt::format("{}\n{} does not compile; the first error above is the one to look at.\n", compiler_output(output),
                     file);
}

}  // namespace

Checked check_file(Lesson& lesson, bool colour) {
  const Build b = build_mine(lesson);
  if (!b.ok) return {false, build_error(lesson, b.output)};
  Grade last = grade(lesson, Suite::evaluate, mine(lesson));
  std::string text = warnings(b.output) + screen(last, colour);
  if (last.all_passed() && lesson.has_cache()) {
    last = grade(lesson, Suite::kv_evaluate, mine(lesson));
    text += "\n" + screen(last, colour);
  }
  note_progress(lesson, last.all_passed());
  return {last.all_passed(), text};
}

int check_lesson(const std::string& word) {
  Lesson lesson = lesson_called(word);
  const std::string number = lesson.name.substr(0, 2);
  if (!fs::exists(lesson.mine))
    throw UsageError(
        fmt::format("there is nothing to check yet; `rungs start {}` makes {}", number, short_path(lesson.mine)));
  const Checked checked = check_file(lesson, wants_colour(stdout));
  fmt::print("{}", checked.text);
  if (!checked.passed) return 1;

  fmt::print("\nPassed. Compare yours with {}.", short_path(lesson.solution));
  for (const Lesson& next : all_lessons())
    if (next.number() == lesson.number() + 1) fmt::print(" Next: rungs start {}", next.name.substr(0, 2));
  fmt::print("\n");
  return 0;
}

}  // namespace rungs
