#include "rungs/grader/strength.hpp"

#include <algorithm>

#include "contains.hpp"
#include "learner/lessons.hpp"
#include "rungs/base/text.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

/// A lesson, 06 if none is named, with a few of its cases only.
struct WeakLesson {
  Folder folder;
  Lesson lesson;

  explicit WeakLesson(std::initializer_list<const char*> cases, const Lesson& whole = lesson_called("06_causal_mask"))
      : lesson(whole) {
    const std::filesystem::path weights = folder / "weights";
    std::filesystem::create_directories(weights / "references" / lesson.name);
    for (const char* name : cases)
      std::filesystem::create_directory_symlink(lesson.references / name, weights / "references" / lesson.name / name);
    lesson.references = weights / "references" / lesson.name;
  }
};

const MistakeStrength& called(const Strength& s, const std::string& name) {
  const auto it =
      std::find_if(s.mistakes.begin(), s.mistakes.end(), [&](const MistakeStrength& m) { return m.name == name; });
  REQUIRE(it != s.mistakes.end());
  return *it;
}

std::string problems(const MistakeStrength& m) { return join(m.problems); }

}  // namespace

TEST_SUITE_BEGIN("strength");

TEST_CASE("the suite of a lesson is strong enough") {
  const Strength s = strength(lesson_called("05_attention"));
  INFO(to_string(s));
  CHECK(s.clean());
  CHECK(s.solution_passed == s.cases);
  CHECK(s.cases > 20);
}

TEST_CASE("one token hides nearly every mistake, and that is noticed") {
  const WeakLesson weak({"01_attend_one_token"});
  const Strength s = strength(weak.lesson);
  CHECK(s.solution_passed == 1);
  CHECK_FALSE(s.clean());
  CHECK(problems(called(s, "no_mask")) == Contains("no case rejects it"));
  CHECK(problems(called(s, "mask_transposed")) == Contains("no case rejects it"));
  CHECK(to_string(s) == Contains("TOO WEAK: no case rejects it"));
}

TEST_CASE("mistakes that two tokens cannot tell apart are noticed") {
  const WeakLesson weak({"02_attend_two_tokens"});
  const Strength s = strength(weak.lesson);
  CHECK(called(s, "no_mask").problems.empty());
  CHECK(problems(called(s, "mask_shows_next")) == Contains("no case tells it from no_mask"));
  CHECK_FALSE(s.clean());
}

TEST_CASE("a mistake that does not show as it says is noticed") {
  Lesson l = lesson_called("05_attention");
  for (KnownMistake& m : l.mistakes)
    if (m.name == "no_scale") m.shows = "work";
  const Strength s = strength(l);
  CHECK(problems(called(s, "no_scale")) == "it does not show as work");
  CHECK_FALSE(s.clean());
}

TEST_CASE("a mistake for the checker must end in a fault inside a kernel wherever it is rejected") {
  WeakLesson weak({"02_matmul_coalesced_small", "15_matmul_tiled_two_tiles", "16_matmul_tiled_unequal"},
                  lesson_called("17_cuda_matmul"));
  for (KnownMistake& m : weak.lesson.mistakes)
    if (m.name == "tile_transposed") m.shows = "checker";
  const Strength s = strength(weak.lesson);
  CHECK(s.solution_passed == 3);
  CHECK(called(s, "no_barrier_before").problems.empty());
  CHECK(called(s, "no_barrier_after").rejected == 2);
  CHECK(problems(called(s, "tile_transposed")) == Contains("it does not show as checker"));
}

TEST_CASE("a mistake that hides within ten tolerances is noticed") {
  const WeakLesson weak({"03_attend_three_tokens"});
  std::filesystem::remove(weak.lesson.references / "03_attend_three_tokens");
  std::filesystem::copy(lesson_called("06_causal_mask").references / "03_attend_three_tokens",
                        weak.lesson.references / "03_attend_three_tokens", std::filesystem::copy_options::recursive);
  const std::filesystem::path file = weak.lesson.references / "03_attend_three_tokens" / "case.json";
  write_file(file, R"({"run": "sdpa", "tensors": [{"name": "out", "dims": ["token", "dim"], "error32": 0.02}]})");
  const Strength s = strength(weak.lesson);
  CHECK(s.solution_passed == 1);
  CHECK(problems(called(s, "no_mask")) == Contains("its best case misses the tolerance by"));
}

TEST_CASE("a solution that fails is noticed") {
  Lesson l = lesson_called("06_causal_mask");
  l.solution_runner = program("no_such_program");
  CHECK_THROWS_AS(strength(l), Error);
  l.solution_runner = lesson_called("05_attention").mistakes_runner;  // has no implementation called solution
  const Strength s = strength(l);
  CHECK(s.solution_passed == 0);
  CHECK_FALSE(s.clean());
}

TEST_SUITE_END();
