#include "rungs/grader/diagnose.hpp"

#include <algorithm>
#include <cmath>

#include "contains.hpp"
#include "learner/lessons.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

Case case_of(const Shape& shape) {
  Case c;
  Reference r;
  r.name = "out", r.value = Tensor(shape, DType::f64), r.absolute = 1e-6, r.is_output = true;
  c.references.push_back(std::move(r));
  return c;
}

Outcome answer(float first, const char* name = "out", const Shape& shape = {2}) {
  Outcome o;
  o.how = Outcome::done;
  Tensor t(shape);
  std::fill_n(t.data(), t.count(), 1.0f);
  t.flat(0) = first;
  o.recording.output(name, t);
  return o;
}

std::vector<std::string> says(const Diagnosis& d) {
  std::vector<std::string> list;
  for (const KnownMistake* m : d.named) list.push_back(m->says);
  return list;
}

}  // namespace

TEST_SUITE_BEGIN("diagnose");

TEST_CASE("answers are alike within the tolerance, and in nothing else") {
  const Case c = case_of({2});
  CHECK(alike(answer(1), answer(1), c));
  CHECK(alike(answer(1), answer(1 + 5e-7f), c));
  CHECK_FALSE(alike(answer(1), answer(1.001f), c));
  CHECK(alike(answer(1e6f), answer(1e6f + 1), c));  // a few roundoffs of a large value
  CHECK_FALSE(alike(answer(1e6f), answer(1.001e6f), c));
  CHECK(alike(answer(NAN), answer(NAN), c));
  CHECK_FALSE(alike(answer(NAN), answer(1), c));
  CHECK(alike(answer(INFINITY), answer(INFINITY), c));
  CHECK_FALSE(alike(answer(INFINITY), answer(-INFINITY), c));
  CHECK_FALSE(alike(answer(INFINITY), answer(1e30f), c));
  CHECK_FALSE(alike(answer(1), answer(1, "logits"), c));
  CHECK_FALSE(alike(answer(1), answer(1, "out", {2, 1}), c));
}

TEST_CASE("how a run ended, and how much it did, count too") {
  Case c = case_of({2});
  Outcome threw, other;
  threw.how = other.how = Outcome::threw;
  threw.says = other.says = "one";
  CHECK(alike(threw, other, c));
  other.says = "two";
  CHECK_FALSE(alike(threw, other, c));
  CHECK_FALSE(alike(threw, answer(1), c));
  Outcome busy = answer(1);
  busy.recording.linear_rows = 10;
  CHECK(alike(busy, answer(1), c));
  c.linear_rows = 5;
  CHECK_FALSE(alike(busy, answer(1), c));
}

TEST_CASE("what fresh memory held may show wherever NaN, a whole number or no end came out") {
  Outcome of_numbers = answer(1);
  CHECK_FALSE(may_show_fresh_memory(of_numbers));
  of_numbers.recording.add("ids", Tensor({2}, DType::i32), true);
  CHECK(may_show_fresh_memory(of_numbers));
  CHECK(may_show_fresh_memory(answer(NAN)));
  Outcome stopped = answer(1);
  stopped.how = Outcome::threw;
  CHECK(may_show_fresh_memory(stopped));
  stopped.how = Outcome::died;
  CHECK(may_show_fresh_memory(stopped));
  stopped.too_late = true;  // another run would take its whole time again
  CHECK_FALSE(may_show_fresh_memory(stopped));
}

TEST_CASE("every known mistake that shows in outputs is named by its own sentence") {
  for (const char* name : {"03_layer_norm", "05_attention", "06_causal_mask"}) {
    const Lesson& lesson = lesson_called(name);
    MistakeAnswers mistakes(lesson);
    for (const KnownMistake& m : lesson.mistakes) {
      if (m.shows != "output") continue;
      INFO(name, " ", m.name);
      const Grade g = grade(lesson, Suite::evaluate, {lesson.mistakes_runner, m.name, m.name, {}, nullptr, &mistakes});
      CHECK(says(g.diagnosis) == std::vector<std::string>{m.says});
    }
  }
}

TEST_CASE("a wrong version that equals a mistake on one case only is given no name") {
  const Lesson& l = lesson_called("06_causal_mask");
  const std::vector<Case> cases = cases_of(l, Suite::evaluate);
  const auto called = [&](const std::string& name) {
    return &*std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.input.name == name; });
  };
  // With two tokens, to see one ahead is to see all.
  Runner no_mask(l.mistakes_runner, "no_mask");
  MistakeAnswers mistakes(l);
  const Case &of_two = *called("02_attend_two_tokens"), &of_three = *called("03_attend_three_tokens");
  const Outcome with_two = no_mask.run(of_two.input), with_three = no_mask.run(of_three.input);
  const std::vector<FailedCase> two{{&of_two, &with_two}}, both{two[0], {&of_three, &with_three}};
  CHECK(diagnose(mistakes, no_mask, two, {}).named.size() == 2);
  const Diagnosis d = diagnose(mistakes, no_mask, both, {});
  REQUIRE(d.named.size() == 1);
  CHECK(d.named[0]->name == "no_mask");
  CHECK(d.cases == 2);
}

TEST_CASE("a mistake that fails on a case that passes is not it") {
  const Lesson& l = lesson_called("06_causal_mask");
  const std::vector<Case> cases = cases_of(l, Suite::evaluate);
  Runner no_mask(l.mistakes_runner, "no_mask");
  MistakeAnswers mistakes(l);
  const Outcome with_two = no_mask.run(cases[1].input);
  const std::vector<FailedCase> failing{{&cases[1], &with_two}};
  const std::vector<const Case*> passing{&cases[2]};  // of three tokens
  CHECK(diagnose(mistakes, no_mask, failing, passing).named.empty());
}

TEST_CASE("where outputs fit nothing, the first wrong tap may still be known") {
  const Lesson& l = lesson_called("05_attention");
  const Grade g = grade(l, Suite::evaluate, {program("05_versions"), "FreeTwoMistakes", "x"});
  REQUIRE(g.diagnosis.named.size() == 1);
  CHECK(g.diagnosis.named[0]->name == "no_scale");
  CHECK(g.diagnosis.tap == "scores");
  CHECK(g.story == Contains("your scores is what you get when"));
  CHECK(g.story == Contains("What comes after scores is not as in that version:"));
}

TEST_SUITE_END();
