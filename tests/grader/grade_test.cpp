#include "rungs/grader/grade.hpp"

#include "contains.hpp"
#include "learner/lessons.hpp"
#include "rungs/base/text.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("grade");

TEST_CASE("pass rates") {
  CHECK(pass_rate(10, 10) == "Pass rate: 100.00% (10/10)");
  CHECK(pass_rate(2, 7) == "Pass rate: 28.57% (2/7)");
  CHECK(pass_rate(0, 0) == "Pass rate: 0.00% (0/0)");
}

TEST_CASE("no case is no pass") {
  CHECK_FALSE(Grade().all_passed());
  const Lesson& l = lesson_called("06_causal_mask");
  CHECK_FALSE(grade(l, Suite::kv_evaluate, solution(l)).all_passed());  // it has none
}

TEST_CASE("text is wrapped by what is seen, and a long word stands alone") {
  CHECK(wrapped("one two three", 7, "  ") == "  one two\n  three");
  CHECK(wrapped("", 7, "  ") == "  ");
  CHECK(wrapped("√√√√ √√", 7, "") == "√√√√ √√");
  CHECK(wrapped("extraordinarily so", 7, "") == "extraordinarily\nso");
}

TEST_CASE("a solution passes, and its screen ends with the rate") {
  const Lesson& l = lesson_called("06_causal_mask");
  const Grade g = grade(l, Suite::evaluate, solution(l));
  CHECK(g.all_passed());
  CHECK(g.story.empty());
  const std::string text = screen(g, false);
  CHECK(text == Contains("the solution"));
  CHECK(text.find('\033') == std::string::npos);
  CHECK(text.ends_with(pass_rate(g.cases.size(), g.cases.size()) + "\n"));
}

TEST_CASE("the story of a known mistake") {
  const Lesson& l = lesson_called("06_causal_mask");
  const Grade g = grade(l, Suite::evaluate, {l.mistakes_runner, "no_mask", "x"});
  CHECK(g.story.starts_with("02_attend_two_tokens: small enough to be read in full\n"));  // not the case of one token
  CHECK(g.story == Contains("  scores is right.\n  weights is the first tensor that differs: 2 of 4 values.\n"));
  CHECK(g.story == Contains("The worst is query 0, key 0: yours 0.9991, reference 1"));
  CHECK(g.story == Contains("       0.9991  0.0008781             1          0\n"));
  CHECK(g.story == Contains("no key is hidden: every token sees the whole sequence"));
  CHECK(g.story == Contains("  Read: walkthrough, \"What the mask hides\""));
  for (size_t i = 0; i < g.cases.size(); ++i)
    if (g.cases[i].find("out") && g.cases[i].find("out")->value.dim(0) == 1) CHECK(g.verdicts[i].pass);
}

TEST_SUITE_END();
