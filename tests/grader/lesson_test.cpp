#include "rungs/grader/lesson.hpp"

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

/// A source tree and a build tree with one lesson.
struct Trees {
  Folder source, build;
  explicit Trees(std::string_view header = "/// Lesson 6: no token sees the future, and that is all.\n#pragma once\n",
                 std::string_view list = "05_attention\n06_causal_mask 05_attention\n") {
    for (const char* name : {"05_attention", "06_causal_mask"}) {
      std::filesystem::create_directories(source / "lessons" / name);
      std::filesystem::create_directories(build / "lessons" / name);
      write_file(source / "lessons" / name / "lesson.hpp", header);
      write_file(build / "lessons" / name / "mistakes.json",
                 R"([{"name": "a", "says": "b.", "read": "c", "shows": "output"}])");
    }
    write_file(build / "lessons.txt", list);
  }
  std::vector<Lesson> find() const { return find_lessons(source.path(), build.path()); }
};

}  // namespace

TEST_SUITE_BEGIN("lesson");

TEST_CASE("lessons are found in the order of the list") {
  const std::vector<Lesson> all = Trees().find();
  REQUIRE(all.size() == 2);
  CHECK(all[1].name == "06_causal_mask");
  CHECK(all[1].number() == 6);
  CHECK(all[1].title == "no token sees the future, and that is all");
  CHECK(all[1].builds_on == std::vector<std::string>{"05_attention"});
  REQUIRE(all[1].mistakes.size() == 1);
  CHECK(all[1].mistakes[0].says == "b.");
  CHECK(all[1].mine.filename() == "06_causal_mask.cpp");
}

TEST_CASE("a stretch has the page of its lesson, and is none of the lessons") {
  const Trees trees;
  write_file(trees.build / "stretches.txt", "06s_window 05_attention\n");
  std::filesystem::create_directories(trees.source / "lessons/06s_window");
  write_file(trees.source / "lessons/06s_window/lesson.hpp", "/// Lesson 6s: a stretch.\n");
  const std::vector<Lesson> stretches = find_stretches(trees.source.path(), trees.build.path());
  REQUIRE(stretches.size() == 1);
  CHECK(stretches[0].is_stretch());
  CHECK(stretches[0].short_name() == "06s");
  CHECK(stretches[0].page == trees.source / "lessons/06_causal_mask/walkthrough.md");
  CHECK(trees.find().size() == 2);
  CHECK_FALSE(trees.find()[1].is_stretch());
}

TEST_CASE("what a learner writes ends as the lesson's program does") {
  const Trees trees;
  write_file(trees.source / "lessons/06_causal_mask/main.cu", "");
  const std::vector<Lesson> all = trees.find();
  CHECK(all[0].ending == ".cpp");
  CHECK_FALSE(all[0].has_kernels());
  CHECK(all[1].has_kernels());
  CHECK(all[1].mine.filename() == "06_causal_mask.cu");
  CHECK(all[1].solution.filename() == "solution.cu");
  CHECK(all[1].starter.filename() == "starter.cu");
}

TEST_CASE("models and references come from the same folder, here or where RUNGS_WEIGHTS says") {
  const Trees trees;
  CHECK(trees.find()[0].references == trees.source.path() / "weights/references/05_attention");
  setenv("RUNGS_WEIGHTS", "/hidden", 1);
  const std::vector<Lesson> all = trees.find();
  unsetenv("RUNGS_WEIGHTS");
  CHECK(all[0].references == "/hidden/references/05_attention");
}

TEST_CASE("the first line of lesson.hpp says what the lesson adds") {
  for (const char* header : {"", "\n", "#pragma once\n", "/// Lesson 6\n", "/// Lesson 6: no period\n",
                             "// Lesson 6: two slashes.\n", "/// Lesson 6, no colon.\n"}) {
    INFO("\"", header, "\"");
    CHECK_THROWS_WITH_AS(Trees(header).find(), Contains("lesson.hpp: line 1: wanted \"/// Lesson N:"), FileError);
  }
}

TEST_CASE("a lesson is known before it was first built, its mistakes are not") {
  const Trees trees;
  std::filesystem::remove_all(trees.build / "lessons");
  const std::vector<Lesson> all = trees.find();
  REQUIRE(all.size() == 2);
  CHECK(all[1].title == "no token sees the future, and that is all");
  CHECK(all[1].mistakes.empty());
}

TEST_CASE("what is missing is named") {
  CHECK(Trees("/// Lesson 1: x.\n", "").find().empty());
  CHECK_THROWS_WITH_AS(Trees("/// Lesson 1: x.\n", "09_no_such_lesson\n").find(), Contains("09_no_such_lesson"),
                       FileError);
  Folder empty;
  CHECK_THROWS_WITH_AS(find_lessons(empty.path(), empty.path()), Contains("lessons.txt"), FileError);
}

TEST_SUITE_END();
