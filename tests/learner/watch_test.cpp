// rungs watch, at a terminal and elsewhere.
#include <fstream>

#include "contains.hpp"
#include "learner/learner.hpp"
#include "learner/terminal.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

const std::string lesson = "01_tensor", right = "  return row * columns + column;\n";

std::string watch(const Learner& learner, const std::string& environment = "NO_COLOR=1") {
  return "env " + environment + " RUNGS_WORK='" + learner.work.path().string() + "' '" + program("rungs").string() +
         "' watch 1";
}

/// As editors do that write another file first.
void replaces(const Learner& learner, const std::string& code) {
  write_file(learner.work / "new file", code);
  std::filesystem::rename(learner.work / "new file", learner.file(lesson));
}

size_t widest(const std::string& screen) {
  size_t most = 0, width = 0;
  for (const char c : screen) {
    if (c == '\n')
      width = 0;
    else if (c != '\r' && (c & 0xC0) != 0x80)
      most = std::max(most, ++width);
  }
  return most;
}

}  // namespace

TEST_SUITE_BEGIN("learner");

TEST_CASE("read opens the page in a browser where there is one, and stays in the terminal where it is told to") {
  const Learner learner;
  const std::string read = "env NO_COLOR=1 PAGER=cat BROWSER='cp -t " + learner.work.path().string() + "' '" +
                           program("rungs").string() + "' read 6";
  Terminal here(read + " --terminal", 80, 24);
  CHECK(here.shows("Lesson 6: "));
  CHECK(here.end() == 0);
  CHECK(learner.work.files().empty());
  Terminal there(read, 80, 24);
  CHECK(there.shows("06_causal_mask.html is open in the browser."));
  CHECK(there.end() == 0);
  REQUIRE(learner.work.files().size() == 1);
  CHECK(read_text(learner.work / learner.work.files()[0]) == Contains("</html>"));
  Terminal without(
      "env -u BROWSER -u DISPLAY -u WAYLAND_DISPLAY NO_COLOR=1 PAGER=cat '" + program("rungs").string() + "' read 6",
      80, 24);
  CHECK(without.shows("Lesson 6: "));
  CHECK(without.end() == 0);
}

TEST_CASE(
    "watch shows a verdict after every save, keeps watching a file that is gone, and leaves the terminal as it was") {
  Learner learner;
  REQUIRE(learner.types("start 1") == 0);
  Terminal terminal(watch(learner), 90, 40);
  REQUIRE(terminal.shows("step 1 of 2"));
  CHECK(terminal.shows("after the save: build "));
  CHECK(terminal.shows("q quit"));
  CHECK(terminal.reads_keys());

  replaces(learner, with(solution_of(lesson), right, "  return row * columns + colum;\n"));
  REQUIRE(terminal.shows("01_tensor.cpp does not compile."));
  CHECK(terminal.screen == Contains("error: "));
  CHECK(terminal.screen == Contains("colum;"));

  std::filesystem::rename(learner.file(lesson), learner.work / "01_old.cpp");
  REQUIRE(terminal.shows("01_old.cpp"));

  terminal.forget();
  learner.writes(lesson, solution_of(lesson));
  REQUIRE(terminal.shows("Pass rate: 100.00%"));
  CHECK(terminal.shows("s solution"));

  terminal.press("q");
  CHECK(terminal.end() == 0);
  CHECK(terminal.as_before());
  CHECK(learner.types("list") == 0);
  CHECK(learner.text == Contains("\n1 of "));
}

TEST_CASE(
    "a key of watch gives hints one by one, resets after it was pressed twice, and goes on when the lesson has "
    "passed") {
  Learner learner;
  learner.writes(lesson, solution_of(lesson) + "// not the starter\n");
  Terminal terminal(watch(learner), 90, 40);
  REQUIRE(terminal.shows("Pass rate: 100.00%"));
  terminal.press("h");
  REQUIRE(terminal.shows("1 of 3 hints."));
  terminal.press("h");
  REQUIRE(terminal.shows("2 of 3 hints."));

  terminal.press("r");
  REQUIRE(terminal.shows("Press r again"));
  CHECK(read_text(learner.file(lesson)) == Contains("// not the starter"));
  terminal.press("n");
  REQUIRE(terminal.shows("02_embedding  evaluate"));
  CHECK(read_text(learner.file("02_embedding")) == read_text(lesson_called("02_embedding").starter));
  terminal.press("n");
  REQUIRE(terminal.shows("The next lesson comes when this one has passed."));
  terminal.press("r");
  REQUIRE(terminal.shows("Press r again"));
  terminal.press("r");
  REQUIRE(terminal.shows("02_embedding.before_reset_1.cpp"));

  kill(terminal.pid, SIGTERM);
  CHECK(terminal.end() == 128 + SIGTERM);
  CHECK(terminal.as_before());
}

TEST_CASE("a save while an endless loop is checked is checked instead, and quitting does not wait for it") {
  Learner learner;
  const std::string endless = with(solution_of(lesson), right, "  for (volatile int i = 0;; i = i + 1) {}\n" + right);
  learner.writes(lesson, endless);
  Terminal terminal(watch(learner), 90, 40);
  REQUIRE(terminal.shows("checking"));
  replaces(learner, solution_of(lesson));
  REQUIRE(terminal.shows("Pass rate: 100.00%"));
  terminal.forget();
  replaces(learner, endless);
  REQUIRE(terminal.shows("checking"));
  terminal.press("q");
  CHECK(terminal.end() == 0);
  CHECK(terminal.as_before());
}

TEST_CASE("at 40 columns no line of watch is wider, and without colour nothing is coloured") {
  Learner learner;
  REQUIRE(learner.types("start 1") == 0);
  Terminal terminal(watch(learner), 40, 20);
  REQUIRE(terminal.shows("cases 0"));
  CHECK(terminal.shows("Pass rate: 0.00%"));
  CAPTURE(terminal.screen);
  CHECK(widest(terminal.screen) <= 40);
  CHECK(std::count(terminal.screen.begin(), terminal.screen.end(), '\n') < 20);
  CHECK(terminal.screen.find('\x1b') == std::string::npos);
  terminal.press("\4");
  CHECK(terminal.end() == 0);
}

TEST_CASE("two watches of one file give one verdict each") {
  Learner learner;
  REQUIRE(learner.types("start 1") == 0);
  Terminal one(watch(learner), 90, 40), two(watch(learner), 90, 40);
  REQUIRE(one.shows("step 1 of 2"));
  REQUIRE(two.shows("step 1 of 2"));
  replaces(learner, solution_of(lesson));
  CHECK(one.shows("Pass rate: 100.00% (9/9)"));
  CHECK(two.shows("Pass rate: 100.00% (9/9)"));
}

TEST_CASE("where the output is no terminal, watch prints plain lines") {
  Learner learner;
  REQUIRE(learner.types("start 1") == 0);
  const std::string out = learner.work / "said";
  Terminal terminal(watch(learner, "NO_COLOR=") + " >'" + out + "'", 90, 40);
  while (!std::filesystem::exists(out) || read_text(out).find("after the save") == std::string::npos) usleep(20'000);
  kill(terminal.pid, SIGINT);
  CHECK(terminal.end() == 128 + SIGINT);
  const std::string text = read_text(out);
  CHECK(text == Contains("Watching "));
  CHECK(text == Contains("step 1 of 2"));
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("an endless loop is ended at its first case, and said while it runs") {
  Learner learner;
  learner.writes(lesson, with(solution_of(lesson), right, "  for (volatile int i = 0;; i = i + 1) {}\n" + right));
  CHECK(learner.types("check 1") == 1);
  CHECK(learner.text == Contains("01_offset_one_row is still running; after 10 s it is stopped."));
  CHECK(learner.out == Contains("It was still running after 10 s and was stopped: an endless loop?"));
  CHECK(learner.out == Contains("The 8 cases after it were not run."));
  CHECK(learner.out == Contains("linear              0 of 6 right, not run"));
  CHECK(learner.out == Contains("Pass rate: 0.00% (0/9)"));
}

TEST_CASE("two checks of one lesson wait for each other") {
  Learner learner;
  learner.writes(lesson, solution_of(lesson));
  REQUIRE(learner.types("check 1") == 0);
  const std::string file = learner.file(lesson), check = "env NO_COLOR=1 RUNGS_WORK='" + learner.work.path().string() +
                                                         "' '" + program("rungs").string() + "' check 1";
  for (int round = 0; round < 3; ++round) {
    std::ofstream(file, std::ios::app) << "// " << round << "\n";
    Terminal one(check, 90, 40), two(check, 90, 40);
    CHECK(one.shows("Pass rate: 100.00% (9/9)"));
    CHECK(two.shows("Pass rate: 100.00% (9/9)"));
    CHECK(one.end() == 0);
    CHECK(two.end() == 0);
  }
}

TEST_SUITE_END();
