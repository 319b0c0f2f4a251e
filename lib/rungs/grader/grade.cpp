#include "rungs/grader/grade.hpp"

#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "rungs/base/text.hpp"
#include "rungs/grader/places.hpp"

namespace rungs {

std::string pass_rate(size_t passed, size_t total) {
  return fmt::format("Pass rate: {:.2f}% ({}/{})", total ? 100.0 * double(passed) / double(total) : 0.0, passed, total);
}

/// It fails, and not only because something is not written yet: what is written goes wrong already.
static bool is_wrong(const Verdict& v, const Case& c) {
  if (v.saved_alone) return false;
  if (v.pass || v.outcome.how != Outcome::not_written) return !v.pass;
  const std::vector<Compared> all = compare_all(v.outcome, c);
  return std::any_of(all.begin(), all.end(), [](const Compared& p) { return !p.comparison.pass; });
}

size_t case_to_tell(const Grade& g) {
  const auto wrong = [&](size_t i) { return is_wrong(g.verdicts[i], g.cases[i]); };
  size_t first = 0;
  while (first < g.cases.size() && !wrong(first)) ++first;
  if (first == g.cases.size()) {
    for (first = 0; g.verdicts[first].pass;) ++first;
    return first;
  }
  const auto of_first = [&](size_t i) { return g.cases[i].input.run == g.cases[first].input.run; };
  const size_t ran = g.cases.size() - g.not_run;
  if (g.not_run > 0 && of_first(ran - 1)) return ran - 1;  // it did not come to its end
  const auto size_of = [&](size_t i) {
    int64_t count = 0, rows = 0;
    for (const Reference& r : g.cases[i].references)
      if (r.is_output) count += r.value.count(), rows = std::max(rows, r.value.rows());
    return std::pair(rows <= 1, count);
  };
  size_t best = first;
  for (size_t i = first; i < ran; ++i)
    if (wrong(i) && of_first(i) && size_of(i) < size_of(best)) best = i;
  return best;
}

namespace {

std::string sentence(const std::string& text) { return text.ends_with('.') || text.ends_with('?') ? text : text + "."; }

std::string tell_next(const std::string& step) { return wrapped(sentence(step), 72, "      ") + "\n"; }

std::string tell_fresh(FreshRead read) {
  if (read == FreshRead::none) return "";
  return wrapped(read == FreshRead::right_with_zeros ? "If fresh memory held zeros, this case would be right. It holds "
                                                       "anything: you add to memory (+=), or read it, "
                                                       "before you have written there. Begin with = 0."
                                                     : "The result depends on what fresh memory happens to hold: you "
                                                       "add to memory (+=), or read it, before you "
                                                       "have written there.",
                 76, "  ") +
         "\n";
}

/// What fills a local variable that was never given a value: the bytes that g++ writes into those of a runner process
/// (runner_flags in lib/CMakeLists.txt). clang's are NaN.
constexpr uint32_t never_set = 0xFEFEFEFE;

/// Whether an output or a tap holds it, or it with something added.
bool holds_what_was_never_set(const Outcome& outcome) {
  const double number = double(std::bit_cast<float>(never_set));
  const auto shows = [&](const Recorded& piece) {
    const Tensor& t = piece.value;
    for (int64_t i = 0; i < t.count(); ++i)
      if (t.dtype() == DType::f32 ? std::fabs(t.value(i) / number - 1) < 1e-6
                                  : t.dtype() == DType::i32 && t.value(i) == double(int32_t(never_set)))
        return true;
    return false;
  };
  return std::any_of(outcome.recording.pieces.begin(), outcome.recording.pieces.end(), shows);
}

/// Where a mistake explains a tap, and not every output.
std::string tell_rest(const Diagnosis& d) {
  if (d.tap.empty() || d.whole == d.cases) return "";
  const char* rest = d.whole
                         ? "On {} of them the output is that version's; on the others something after {} is wrong too."
                         : "What comes after {1} is not as in that version: written in another way, or wrong too.";
  return wrapped(fmt::format(fmt::runtime(rest), d.whole, d.tap), 76, "  ") + "\n";
}

std::string tell_diagnosis(const Diagnosis& d, const Lesson& lesson, bool half_written) {
  if (d.named.empty())
    return fmt::format("\n  None of the {} known mistakes gives this output.\n", lesson.mistakes.size());
  const std::string where =
      d.cases == 1 ? "on the failing case" : fmt::format("on all failing cases tried ({})", d.cases);
  std::string text = d.tap.empty() ? fmt::format("\n  Known mistake: {}, your output is what you get when\n", where)
                                   : fmt::format("\n  Known mistake: {}, your {} is what you get when\n", where, d.tap);
  for (size_t i = 0; i < d.named.size(); ++i)
    text += (i ? "  or when\n" : "") + wrapped(sentence(d.named[i]->says), 72, "      ") + "\n";
  if (!half_written) text += tell_rest(d);
  if (!d.named[0]->read.empty()) text += fmt::format("  Read: walkthrough, \"{}\"\n", d.named[0]->read);
  return text;
}

/// What was printed, line by line as it was; only long lines are wrapped.
std::string tell_printed(const std::string& printed) {
  std::string text;
  for (size_t begin = 0, end; begin < printed.size(); begin = end + 1) {
    end = std::min(printed.find('\n', begin), printed.size());
    const std::string line = printable(std::string_view(printed).substr(begin, end - begin));
    text += line.size() <= 76 ? "  | " + line + "\n" : wrapped(line, 76, "  | ") + "\n";
  }
  return text;
}

/// "  In 05_attention.cpp, line 31.", where it threw or crashed in the learner's file. What the checker says of a
/// kernel names the line itself; it threw where the kernel was launched.
std::string tell_line(const Outcome& outcome, const Lesson& lesson, const Runner& mine) {
  if (outcome.how != Outcome::threw && outcome.how != Outcome::died) return "";
  if (outcome.says.find(lesson.mine.filename().string() + ":") != std::string::npos) return "";
  const int line = line_of(mine.program(), outcome.calls, lesson.mine);
  return line ? fmt::format("  In {}, line {}.\n", lesson.mine.filename().string(), line) : "";
}

/// Which mistake it is, told from all cases that fail and came to an end; fills in the diagnosis.
std::string tell_mistake(Grade& g, MistakeAnswers& mistakes, Runner& mine, size_t told, bool explained) {
  const auto died = [&](size_t i) { return g.verdicts[i].outcome.how == Outcome::died; };
  const auto failed = [&](size_t i) { return FailedCase{&g.cases[i], &g.verdicts[i].outcome}; };
  std::vector<FailedCase> failing{failed(told)};
  std::vector<const Case*> passing;
  for (size_t i = 0; i < g.cases.size(); ++i) {
    if (died(i) && g.cases[i].input.run == g.cases[told].input.run)
      return "";  // a crash, or an endless loop, of the function that is told of: none explains that
    if (g.verdicts[i].pass)
      passing.push_back(&g.cases[i]);
    else if (i != told && !died(i) && is_wrong(g.verdicts[i], g.cases[i]))
      failing.push_back(failed(i));
  }
  g.diagnosis = diagnose(mistakes, mine, failing, passing);
  if (g.diagnosis.named.empty() && explained) return "";
  return tell_diagnosis(g.diagnosis, mistakes.lesson(), g.verdicts[told].outcome.how == Outcome::not_written);
}

/// "  13_linear_wide: It crashed: ...", where a case of another function than the one told of did not come to its end.
std::string tell_other_end(const Grade& g, size_t told) {
  for (size_t i = 0; i < g.cases.size() - g.not_run; ++i) {
    if (g.verdicts[i].outcome.how != Outcome::died || g.cases[i].input.run == g.cases[told].input.run) continue;
    return "\n" + wrapped(g.cases[i].input.name + ": " + g.verdicts[i].outcome.says, 76, "  ") + "\n";
  }
  return "";
}

/// How many cases nobody waited for.
std::string tell_not_run(const Grade& g) {
  return g.not_run ? fmt::format("  The {} cases after it were not run.\n", g.not_run) : "";
}

/// The story of one failing case; fills in the diagnosis and what that case printed.
std::string tell(Grade& g, MistakeAnswers& mistakes, Runner& mine, Runner& fresh,
                 const std::vector<std::string>& printed) {
  const size_t at = case_to_tell(g);
  g.printed = printed[at];
  const Verdict& v = g.verdicts[at];
  const Case& c = g.cases[at];
  const bool half_written = v.outcome.how == Outcome::not_written;
  std::string text = fmt::format("{}{}\n", c.input.name, c.says.empty() ? "" : ": " + c.says);
  if (v.saved_alone) return text + wrapped(sentence(v.summary), 76, "  ") + "\n";
  if (!is_wrong(v, c)) return text + "  The next thing to write is\n" + tell_next(v.outcome.says) + describe(v, c);

  text += half_written ? "  What is written so far goes wrong.\n" : wrapped(sentence(v.summary), 76, "  ") + "\n";
  text += tell_line(v.outcome, mistakes.lesson(), mine) + describe(v, c);
  if (v.outcome.too_late) return text + tell_not_run(g);
  const FreshRead fresh_read = reads_fresh_memory(mine, v.outcome, c);
  const bool unset = holds_what_was_never_set(v.outcome);
  text += tell_fresh(fresh_read);
  if (unset) text += "  That is what a variable holds that was never given a value: give it one.\n";
  text += tell_mistake(g, mistakes, mine, at, unset || fresh_read != FreshRead::none);
  text += tell_other_end(g, at) + tell_not_run(g);
  if (half_written) return text + "\n  After that, the next thing to write is\n" + tell_next(v.outcome.says);
  if (judge(fresh.run(c.input), c).pass)
    text +=
        "  Alone, this case passes: something is kept from one case to the next, in a static or a global variable.\n";
  return text;
}

}  // namespace

Candidate mine(const Lesson& lesson) {
  return {lesson.mine_runner, "mine", lesson.mine.parent_path().filename() / lesson.mine.filename()};
}

Candidate solution(const Lesson& lesson) { return {lesson.solution_runner, "solution", "the solution"}; }

/// To throw is right where a case must fail, but not for a function that throws on every case.
static void take_back_unearned(Grade& g) {
  for (size_t i = 0; i < g.cases.size(); ++i) {
    if (!g.verdicts[i].pass || g.cases[i].error.empty()) continue;
    size_t others = 0, thrown = 0;
    for (size_t j = 0; j < g.cases.size(); ++j) {
      if (g.cases[j].input.run != g.cases[i].input.run || !g.cases[j].error.empty()) continue;
      ++others, thrown += g.verdicts[j].outcome.how == Outcome::threw;
    }
    if (others == 0 || thrown < others) continue;
    g.verdicts[i].pass = false, --g.passed;
    g.verdicts[i].summary = "It threw, as it must, but it throws on every case of " + g.cases[i].input.run;
  }
}

/// A case is right if one of what was drawn for it is, too: two, since right programs may differ where a number decides
/// between two tokens.
static void take_back_saved_alone(Grade& g, Runner& runner, const DrawnCases& drawn) {
  for (size_t i = 0; i < g.cases.size(); ++i) {
    Verdict& v = g.verdicts[i];
    const auto it = drawn.find(g.cases[i].input.name);
    if (!v.pass || it == drawn.end()) continue;
    const auto right = [&](const DrawnCase& d) { return agrees(runner.run(d.input), d, g.cases[i]); };
    if (std::any_of(it->second.begin(), it->second.end(), right)) continue;
    v.pass = false, v.saved_alone = true, --g.passed;
    v.summary =
        "It is right on the saved inputs, and wrong on others of the same shapes that were drawn for this grade";
  }
}

Grade grade(const Lesson& lesson, Suite suite, const Candidate& candidate, const Waiting& waiting) {
  Grade g;
  g.lesson = lesson.name, g.suite = name_of(suite), g.graded = candidate.called;
  g.cases = cases_of(lesson, suite);
  Runner under_grade(candidate.program, candidate.implementation, candidate.limits);
  std::vector<std::string> printed;  // of each case
  for (const Case& c : g.cases) {
    if (waiting.before) waiting.before(c);
    g.verdicts.push_back(judge(under_grade.run(c.input), c));
    g.passed += g.verdicts.back().pass;
    printed.push_back(under_grade.printed());
    if (g.printed.empty()) g.printed = printed.back();  // where all pass, of the first that prints
    if (waiting.until_endless && g.verdicts.back().outcome.too_late) break;
  }
  if (waiting.after) waiting.after();
  g.not_run = g.cases.size() - g.verdicts.size();
  for (size_t i = 0; i < g.not_run; ++i) {
    g.verdicts.emplace_back().summary = "It was not run: a case before it did not come to its end.";
    printed.emplace_back();
  }
  Runner fresh(candidate.program, candidate.implementation, candidate.limits);
  take_back_unearned(g);
  if (candidate.drawn) take_back_saved_alone(g, under_grade, *candidate.drawn);
  if (!g.all_passed() && !g.cases.empty()) {
    std::optional<MistakeAnswers> own;
    MistakeAnswers& mistakes = candidate.mistakes ? *candidate.mistakes : own.emplace(lesson);
    g.story = tell(g, mistakes, under_grade, fresh, printed);
  }
  return g;
}

/// One line for each function of the lesson: how many of its cases are right.
static std::string by_function(const Grade& g, bool colour) {
  std::vector<std::string> functions;
  for (const Case& c : g.cases)
    if (std::find(functions.begin(), functions.end(), c.input.run) == functions.end()) functions.push_back(c.input.run);
  std::string text;
  for (const std::string& function : functions) {
    size_t passed = 0, total = 0, not_run = 0;
    double fraction = 0;
    for (size_t i = 0; i < g.cases.size(); ++i) {
      if (g.cases[i].input.run != function) continue;
      ++total, not_run += i >= g.cases.size() - g.not_run;
      if (g.verdicts[i].pass) ++passed, fraction = std::max(fraction, g.verdicts[i].fraction);
    }
    const auto style = fmt::fg(passed == total ? fmt::terminal_color::green : fmt::terminal_color::red);
    const std::string count = fmt::format("{:>3} of {} right", passed, total);
    text += fmt::format("  {:<18}{}", function, colour ? fmt::format(style, "{}", count) : count);
    if (passed && fraction > 0)
      text += fmt::format(", at most {:.0f}% of the tolerance used", std::ceil(100 * fraction));
    if (not_run) text += not_run == total ? ", not run" : fmt::format(", {} not run", not_run);
    text += "\n";
  }
  return text;
}

std::string screen(const Grade& g, bool colour) {
  const auto bold = [&](const std::string& t) { return colour ? fmt::format(fmt::emphasis::bold, "{}", t) : t; };
  std::string text = fmt::format("{}{:>{}}\n\n", bold(g.lesson + "  " + g.suite), g.graded,
                                 78 - std::min<size_t>(70, g.lesson.size() + 2 + g.suite.size()));
  text += by_function(g, colour);
  if (!g.story.empty()) text += "\n" + g.story;
  if (!g.printed.empty()) text += "\nIt printed:\n" + tell_printed(g.printed);
  const std::string rate = pass_rate(g.passed, g.cases.size());
  const auto style =
      fmt::emphasis::bold | fmt::fg(g.all_passed() ? fmt::terminal_color::green : fmt::terminal_color::red);
  return text + "\n" + (colour ? fmt::format(style, "{}", rate) : rate) + "\n";
}

}  // namespace rungs
