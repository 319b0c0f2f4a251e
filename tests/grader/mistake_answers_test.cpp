#include "rungs/grader/mistake_answers.hpp"

#include "contains.hpp"
#include "learner/lessons.hpp"
#include "rungs/base/file.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

/// A lesson as a handout has it: without its solution, its mistakes recorded in `file`.
Lesson handed_out(const Lesson& lesson, const std::filesystem::path& file) {
  Lesson l = lesson;
  l.solution = "/no/solution.cpp", l.mistakes_runner = "/no/mistakes", l.recorded = file;
  return l;
}

std::string verdict(MistakeAnswers& mistakes, const std::filesystem::path& program, const std::string& version) {
  return grade(mistakes.lesson(), Suite::evaluate, {program, version, "yours", {}, nullptr, &mistakes}).story;
}

}  // namespace

TEST_SUITE_BEGIN("diagnose");

TEST_CASE("recorded mistakes are named as those that run are, in the same words") {
  const Folder folder;
  for (const char* name : {"06_causal_mask", "05_attention"}) {
    const Lesson& lesson = lesson_called(name);
    const Lesson handout = handed_out(lesson, folder / "recorded");
    record_mistakes(lesson, handout.recorded);
    MistakeAnswers running(lesson), recorded(handout);
    for (const KnownMistake& m : lesson.mistakes) {
      INFO(m.name);
      const std::string story = verdict(recorded, lesson.mistakes_runner, m.name);
      CHECK(story == verdict(running, lesson.mistakes_runner, m.name));
      if (m.shows == "output") CHECK(story == Contains("Known mistake"));
    }
  }
}

TEST_CASE("a record that is cut off, or none, is a sentence") {
  const Folder folder;
  const Lesson& lesson = lesson_called("06_causal_mask");
  const Lesson handout = handed_out(lesson, folder / "recorded");
  record_mistakes(lesson, handout.recorded);
  const std::string whole = read_text(handout.recorded);
  for (const std::string& text : {whole.substr(0, whole.size() - 1), whole.substr(0, 100), whole + "x",
                                  std::string("what is this?"), std::string(200, 'x')}) {
    write_file(handout.recorded, text);
    CHECK_THROWS_WITH_AS(MistakeAnswers{handout}, doctest::Contains("wanted recorded answers"), FileError);
  }
  std::filesystem::remove(handout.recorded);  // then no mistake is named
  CHECK(MistakeAnswers(handout).with_noise(0, {}).how == Outcome::died);
}

TEST_SUITE_END();
