#include "rungs/grader/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "rungs/grader/faults.hpp"

namespace rungs {

/// Like compare, but for two wrong answers: NaN equals NaN, and since a wrong model may magnify roundoff, values may
/// differ by some tolerances and by a few of their own roundoffs. Different mistakes are thousands of tolerances apart.
static bool same_values(const Tensor& a, const Tensor& b, const Reference* reference) {
  constexpr double relative = 1e-5;
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const bool integers = a.dtype() == DType::i32 || a.dtype() == DType::i64;
  const double allowed = integers ? 0 : 4 * std::max(reference ? reference->absolute : 0, 1e-6);
  for (int64_t i = 0; i < a.count(); ++i) {
    const double x = a.value(i), y = b.value(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (std::isinf(x) || std::isinf(y)) return false;
    if (!(std::fabs(x - y) <= allowed + (integers ? 0 : relative * std::fabs(y)))) return false;
  }
  return true;
}

static std::vector<const Recorded*> outputs(const Outcome& o) {
  std::vector<const Recorded*> list;
  for (const Recorded& p : o.recording.pieces)
    if (p.is_output) list.push_back(&p);
  return list;
}

/// Ended in the same way, with the same sentence, but for lines and threads.
static bool ended_alike(const Outcome& a, const Outcome& b) {
  if (a.how != b.how) return false;
  return a.how == Outcome::done || a.says == b.says || alike_faults(a.says, b.says);
}

bool alike(const Outcome& a, const Outcome& b, const Case& c) {
  if (!ended_alike(a, b)) return false;
  if (a.how == Outcome::done && a.recording.linear_rows != b.recording.linear_rows && c.linear_rows) return false;
  const auto x = outputs(a), y = outputs(b);
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i]->name != y[i]->name || !same_values(x[i]->value, y[i]->value, c.find(x[i]->name))) return false;
  return true;
}

namespace {

/// The first recorded tap that differs from the reference.
struct WrongTap {
  std::string name;
  int64_t first_row;
  const ConstTensor* value;
};

WrongTap first_wrong_tap(const Outcome& outcome, const Case& c) {
  for (const Compared& p : compare_all(outcome, c))
    if (!p.comparison.pass) return {p.name, p.first_row, p.got};
  return {"", 0, nullptr};
}

bool gives_tap(const Outcome& outcome, const Case& c, const WrongTap& wanted) {
  for (const Compared& p : compare_all(outcome, c))
    if (p.name == wanted.name && p.first_row == wanted.first_row)
      return same_values(*p.got, *wanted.value, p.reference);
  return false;
}

/// "layers.1.scores" and "scores" are the same step of the computation.
std::string base_name(const std::string& tap) { return tap.substr(tap.rfind('.') + 1); }

/// Whether a run shows this step under a name that the reference has: a learner may have removed a tap, or the layer's
/// name with it, from one function and not from another.
bool shows_step(const Outcome& outcome, const Case& c, const std::string& step) {
  const std::vector<Compared> all = compare_all(outcome, c);
  return std::any_of(all.begin(), all.end(), [&](const Compared& p) { return base_name(p.name) == step; });
}

/// The failing cases that are compared, with finite noise in fresh memory, and what the learner's file gives on each.
struct Answers {
  Answers(MistakeAnswers& theirs, Runner& runner, const std::vector<FailedCase>& failing) : mistakes(theirs) {
    for (const FailedCase& f : failing) {
      if (cases.size() == most) break;
      cases.push_back(f.asked);
      judged.push_back(f.judged);
      noisy.push_back(runner.run_with_noise(f.asked->input, *f.judged));
    }
  }

  const Outcome& mine(size_t i) const { return noisy[i] ? *noisy[i] : *judged[i]; }

  /// Of known mistake k on case i.
  const Outcome& theirs(size_t k, size_t i) { return mistakes.with_noise(k, *cases[i]); }
  bool alike_on(size_t k, size_t i) { return alike(mine(i), theirs(k, i), *cases[i]); }
  bool alike_on_all(size_t k) {
    for (size_t i = 0; i < cases.size(); ++i)
      if (mine(i).how == Outcome::died || !alike_on(k, i)) return false;
    return !cases.empty();
  }

  static constexpr size_t most = 24;
  std::vector<const Case*> cases;
  std::vector<const Outcome*> judged;
  std::vector<std::optional<Outcome>> noisy;
  MistakeAnswers& mistakes;
};

/// A mistake that the learner's version does not make: it fails on a case that the learner passes.
bool contradicted_by(MistakeAnswers& mistakes, size_t k, const std::vector<const Case*>& passing) {
  return std::any_of(passing.begin(), passing.end(), [&](const Case* c) { return !mistakes.passes(k, *c); });
}

/// Forms of one mistake have one sentence, and count as one.
void name(Diagnosis& d, const KnownMistake& m) {
  const auto same_sentence = [&m](const KnownMistake* other) { return other->says == m.says; };
  if (std::none_of(d.named.begin(), d.named.end(), same_sentence)) d.named.push_back(&m);
}

/// Names the one mistake that gives the first wrong tap on all cases, where there is exactly one.
void name_by_tap(Diagnosis& d, Answers& answers) {
  const Lesson& lesson = answers.mistakes.lesson();
  const size_t count = lesson.mistakes.size();
  const std::vector<const Case*>& cases = answers.cases;
  std::string tap;
  std::vector<bool> explains(count, true);
  std::vector<size_t> stopped;  // cases that threw before anything wrong was recorded
  for (size_t i = 0; i < cases.size(); ++i) {
    const Outcome& mine = answers.mine(i);
    const WrongTap first = first_wrong_tap(mine, *cases[i]);
    if (!first.value && mine.how == Outcome::threw) stopped.push_back(i);
    if (!first.value || (cases[i]->find(first.name) && cases[i]->find(first.name)->is_output)) continue;
    if (tap.empty()) tap = base_name(first.name);
    if (base_name(first.name) != tap && !shows_step(mine, *cases[i], tap)) continue;
    if (base_name(first.name) != tap) return;
    for (size_t k = 0; k < count; ++k) explains[k] = explains[k] && gives_tap(answers.theirs(k, i), *cases[i], first);
  }
  if (tap.empty()) return;
  for (const size_t i : stopped)  // where a mistake goes on to a wrong tap, it is another one
    for (size_t k = 0; k < count; ++k)
      explains[k] = explains[k] && base_name(first_wrong_tap(answers.theirs(k, i), *cases[i]).name) != tap;

  Diagnosis found;
  for (size_t k = 0; k < count; ++k)
    if (explains[k]) name(found, lesson.mistakes[k]);
  if (found.named.size() != 1) return;  // a tap alone cannot tell several apart: no guess
  d.named = found.named;
  d.tap = tap;
  const size_t k = size_t(d.named[0] - lesson.mistakes.data());
  for (size_t i = 0; i < cases.size(); ++i) d.whole += answers.alike_on(k, i);
}

}  // namespace

Diagnosis diagnose(MistakeAnswers& mistakes, Runner& mine, const std::vector<FailedCase>& failing,
                   const std::vector<const Case*>& passing) {
  const Lesson& lesson = mistakes.lesson();
  Answers answers(mistakes, mine, failing);
  Diagnosis d;
  d.cases = answers.cases.size();
  for (size_t k = 0; k < lesson.mistakes.size(); ++k)
    if (answers.alike_on_all(k) && !contradicted_by(mistakes, k, passing)) name(d, lesson.mistakes[k]);
  if (d.named.empty()) name_by_tap(d, answers);
  return d;
}

FreshRead reads_fresh_memory(Runner& mine, const Outcome& judged, const Case& c) {
  if (judged.how == Outcome::died) return FreshRead::none;
  const Verdict zeros_verdict = judge(mine.run(c.input.with_fresh(FreshMemory::zeros)), c);
  const Outcome& with_zeros = zeros_verdict.outcome;
  if (zeros_verdict.pass) return FreshRead::right_with_zeros;
  if (with_zeros.how != judged.how || judged.how == Outcome::threw) return FreshRead::none;
  const std::vector<Compared> all = compare_all(with_zeros, c);
  if (judged.how == Outcome::not_written &&
      std::all_of(all.begin(), all.end(), [](const Compared& p) { return p.comparison.pass; }))
    return FreshRead::right_with_zeros;
  const auto &before = judged.recording.pieces, &after = with_zeros.recording.pieces;
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    const Tensor &nan = before[i].value, &zeros = after[i].value;
    if (nan.shape() != zeros.shape() || nan.dtype() != DType::f32) continue;
    for (int64_t e = 0; e < nan.count(); ++e)  // what is only left unwritten holds the zeros themselves
      if (std::isnan(nan.value(e)) && !std::isnan(zeros.value(e)) && zeros.value(e) != 0) return FreshRead::changes;
  }
  return FreshRead::none;
}

}  // namespace rungs
