// run: a lesson's program, on the solution or on the learner's file.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "check.hpp"
#include "commands.hpp"
#include "prompts.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/shell.hpp"
#include "rungs/base/text.hpp"
#include "rungs/tokenizer/utf8.hpp"
#include "within_time.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

/// A text goes into a lesson's program where its main takes one in place of its own.
bool takes_text(const Lesson& lesson) {
  return read_text(lesson.source / ("main" + lesson.ending)).find("argc > 1 ? argv[1]") != std::string::npos;
}

bool has_token(const Tokenizer& tokenizer, std::string_view character) try {
  return !tokenizer.encode(character).empty();
} catch (const UsageError&) {
  return false;
}

/// The program of a lesson gets one text that it can read, or none. \throws UsageError
void check_text(const Lesson& lesson, const std::string& text) {
  constexpr size_t most_bytes = 1000, most_tokens = 64;  // a program prints a row a token, and generates after them
  std::vector<std::string> others;
  for (const Lesson& l : all_lessons())
    if (takes_text(l)) others.push_back(l.short_name());
  if (!takes_text(lesson))
    throw UsageError(fmt::format("no text goes into the program of {}; one goes into those of lessons {}", lesson.name,
                                 join(others)));
  if (text.empty()) throw UsageError("--text: wanted a text, found an empty one");
  if (text.size() > most_bytes)
    throw UsageError(fmt::format("--text: wanted at most {} bytes, found {}", most_bytes, text.size()));
  if (!is_utf8(text)) throw UsageError("--text is not UTF-8");
  const std::string model = model_of(lesson);
  if (model.empty()) return;  // it has bytes, not words
  const auto tokenizer = load_tokenizer(weights_directory() / model);
  for (std::string_view left = text; !left.empty(); left.remove_prefix(first_character(left).length)) {
    const std::string_view character = left.substr(0, first_character(left).length);
    if (!has_token(*tokenizer, character))
      throw UsageError(fmt::format("--text: the vocabulary of weights/{} has no token for {}", model, character));
  }
  const Prompt prompt = make_prompt(*tokenizer, load_config(weights_directory() / model), text);
  if (prompt.tokens.size() > most_tokens)
    throw UsageError(fmt::format("--text: wanted at most {} tokens, with the one that begins it, found {}", most_tokens,
                                 prompt.tokens.size()));
}

/// Builds the lesson's program on the learner's file.
fs::path build_yours(const Lesson& lesson, const std::string& on) {
  if (!fs::exists(lesson.mine)) throw UsageError(nothing_there(lesson));
  if (on != "emulator") require_place(lesson, on);
  stand_on_own_files(lesson);
  write_include(lesson.name + ".cpp", lesson.mine);
  const std::string kind = on == "emulator" ? "_yours" : "_yours_" + on;
  if (const Build b = build({lesson.name + kind}); !b.ok)
    throw Error(fmt::format("{} does not become the lesson's program; `{} check {}` shows why", short_path(lesson.mine),
                            typed(), lesson.short_name()));
  return lesson.program.string() + kind;
}

}  // namespace

int run_lesson(const RunCommand& command) {
  const Lesson lesson = lesson_called(command.lesson);
  if (lesson.is_stretch())
    throw UsageError(
        fmt::format("a stretch has no program; `{} check {}` says whether it is right", typed(), lesson.short_name()));
  if (command.text) check_text(lesson, *command.text);
  const bool passed = standing_of(lesson) == Standing::passed,
             yours = command.mine || (passed && !command.solution) || !lesson.has_solution();
  if (command.solution && !lesson.has_solution())
    throw UsageError(fmt::format("this copy of Rungs is a handout, without the solution of {}", lesson.name));
  if (command.on != "emulator" && !yours)
    throw UsageError(fmt::format("--on {} runs your file, which has not passed: add --mine", command.on));
  fs::path program = lesson.program;
  if (yours)
    program = build_yours(lesson, command.on);
  else
    must_build({lesson.name});
  if (yours)
    fmt::print(stderr, "Your code runs: {}{}.\n", short_path(lesson.mine), passed ? "" : ", which has not passed");
  else
    fmt::print(stderr, "The solution's code runs{}.\n",
               passed || !fs::exists(lesson.mine) ? "" : "; yours does when it has passed, or with --mine");
  std::fflush(stdout);
  const std::string text = command.text ? " " + shell_word(*command.text) : "";
  const std::string run = shell_word(program.string()) + text;
  if (command.on == "gpu") return run_within_time(run);
  return exit_status(std::system(run.c_str()));
}

}  // namespace rungs
