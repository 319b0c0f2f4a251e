// rungs show NN --diff: the learner's tensor, the reference's, and the difference.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../suggest.hpp"
#include "../workspace.hpp"
#include "rungs/base/text.hpp"
#include "show.hpp"

namespace rungs {

namespace {

/// Any tensor as a stack of matrices: (M, R, C).
ConstTensor as_matrices(const Tensor& t, const std::vector<std::string>& dims) {
  const int rank = t.shape().rank();
  if (rank < 2) return t.reshaped({1, 1, t.count()});
  const bool heads_first = rank == 3 && dims.size() == 3 && dims[0] == "head";
  if (heads_first) return t.view();
  return t.reshaped({1, t.rows(), t.cols()});
}

std::vector<std::string> numbers_of(int64_t n, int64_t first) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < n; ++i) names.push_back(std::to_string(first + i));
  return names;
}

Matrix as_picture(const std::string& title, const Tensor& values, int64_t first_row, double most, const Reference& r) {
  Matrix m = matrix_of(title, values, numbers_of(values.dim(0), first_row), numbers_of(values.dim(1), 0), Shades::sign);
  m.most = most;
  m.row_is = r.dims.size() >= 2 ? r.dims[r.dims.size() - 2] : "row",
  m.column_is = r.dims.empty() ? "element" : r.dims.back();
  return m;
}

/// A tolerance of each element stands for the whole reference, of which a later call has a part.
bool can_mark(const Compared& p) {
  return !p.reference->each || (p.first_row == 0 && p.got->count() == p.reference->each.count());
}

/// Three matrices on one scale; cells of the difference over the tolerance are marked. `at`: the first element of these
/// within the whole.
std::vector<Picture> three(const Tensor& yours, const Tensor& reference, const Compared& p, double most, size_t at) {
  Matrix d = as_picture("the difference", yours, p.first_row, most, *p.reference);
  const Tensor& each = p.reference->each;
  for (size_t i = 0; i < d.values.size(); ++i) {
    const double mine = d.values[i], want = reference.value(int64_t(i));
    d.values[i] = mine == want ? 0 : mine - want;
    const double tolerance = each ? each.value(int64_t(at + i)) : p.reference->absolute;
    if (can_mark(p)) d.marked.push_back(!(std::fabs(d.values[i]) <= tolerance));
  }
  return {as_picture("yours", yours, p.first_row, most, *p.reference),
          as_picture("the reference", reference, p.first_row, most, *p.reference), d};
}

bool any_marked(const std::vector<Picture>& pictures) {
  const std::vector<bool>& marked = std::get<Matrix>(pictures.back()).marked;
  return std::find(marked.begin(), marked.end(), true) != marked.end();
}

/// The largest value of either, which is not infinite.
double scale_of_both(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (const Tensor* t : {&a, &b})
    for (int64_t i = 0; i < t->count(); ++i)
      if (std::isfinite(t->value(i))) most = std::max(most, std::fabs(t->value(i)));
  return most;
}

/// Where it is wrong, in words.
std::string verdict_on(const Compared& p, const Tensor& want) {
  if (p.comparison.pass) return "All values are within the tolerance.";
  return fmt::format(
      "{} of {} values are over the tolerance; the worst is {}: yours {}, reference {}. An x or a frame "
      "marks them.",
      p.comparison.wrong, p.comparison.count, place_of(p.comparison.worst, want.shape(), p.reference->dims),
      number(p.comparison.got), number(p.comparison.want));
}

/// A section for each head that is wrong; of all heads where none is.
void add_sections(Drawing& d, const Compared& p, const Tensor& want) {
  const std::string title = fmt::format("{} {}", p.name, to_string(p.got->shape()));
  const ConstTensor yours = as_matrices(*p.got, p.reference->dims), reference = as_matrices(want, p.reference->dims);
  const double most = scale_of_both(yours, reference);
  std::vector<std::string> right;
  const int64_t M = yours.dim(0);
  d.sections.push_back({title, verdict_on(p, want), {}});
  for (int64_t m = 0; m < M; ++m) {
    std::vector<Picture> pictures = three(yours[m], reference[m], p, most, size_t(m * yours.dim(1) * yours.dim(2)));
    if (M == 1)
      d.sections.back().pictures = std::move(pictures);
    else if (!p.comparison.pass && can_mark(p) && !any_marked(pictures))
      right.push_back(std::to_string(m));
    else
      d.sections.push_back({fmt::format("head {}", m), "", std::move(pictures)});
  }
  if (!right.empty())
    d.notes.push_back(fmt::format("Head{} {} {} right and not drawn.", right.size() > 1 ? "s" : "", join(right),
                                  right.size() > 1 ? "are" : "is"));
}

/// The first of the function that fails, as `rungs check` tells it.
struct Failure {
  std::vector<Case> cases;
  size_t at = 0;
  Verdict verdict;
  std::string suite;
};

/// \throws UsageError when nothing fails
Failure find_failure(Lesson& lesson, const Candidate& candidate) {
  for (const Suite suite : {Suite::evaluate, Suite::kv_evaluate}) {
    if (suite == Suite::kv_evaluate && !lesson.has_cache()) continue;
    Grade g;
    g.cases = cases_of(lesson, suite);
    Runner runner(candidate.program, candidate.implementation);
    for (const Case& c : g.cases) {
      g.verdicts.push_back(judge(runner.run(c.input), c));
      g.passed += g.verdicts.back().pass;
    }
    if (g.all_passed()) continue;
    const size_t at = case_to_tell(g);
    return {std::move(g.cases), at, std::move(g.verdicts[at]), std::string(name_of(suite))};
  }
  throw UsageError(fmt::format(
      "{} passes every case, so there is no difference to draw; `./rungs show {} --mine` draws what it does",
      candidate.called, lesson.short_name()));
}

const Compared& chosen(const std::vector<Compared>& all, const std::string& tap, const Failure& failure) {
  const auto wrong = [](const Compared& p) { return !p.comparison.pass; };
  const std::string name = failure.cases[failure.at].input.name;
  if (tap.empty()) {
    const auto it = std::find_if(all.begin(), all.end(), wrong);
    if (it == all.end())
      throw UsageError(fmt::format("case {}: {}; no tensor that came back differs", name, failure.verdict.summary));
    return *it;
  }
  std::vector<std::string> names;
  for (const Compared& p : all) {
    if (p.name == tap) return p;
    if (std::find(names.begin(), names.end(), p.name) == names.end()) names.push_back(p.name);
  }
  if (names.empty()) throw UsageError(fmt::format("case {} has no tap {}: nothing came back from it", name, tap));
  throw UsageError(
      fmt::format("case {} has no tap {}; there are {}{}", name, tap, join(names), did_you_mean(tap, names)));
}

}  // namespace

Drawing draw_difference(const ShowCommand& command) {
  Lesson lesson = lesson_called(command.lesson);
  const Candidate candidate = built_candidate(lesson, true, true);
  const Failure failure = find_failure(lesson, candidate);
  const Case& c = failure.cases[failure.at];
  const std::vector<Compared> all = compare_all(failure.verdict.outcome, c);
  const Compared& p = chosen(all, command.tap, failure);
  const bool other_shape = !p.comparison.shape_problem.empty();
  const ConstTensor want = other_shape ? p.reference->value.view() : window(*p.reference, *p.got, p.first_row);

  Drawing d{fmt::format("{}, {}: {}", lesson.name, failure.suite, c.input.name), candidate.called, {}, {}};
  d.notes.push_back("The case: " + c.says + ".");
  d.notes.push_back(failure.verdict.summary + ".");
  if (other_shape) {
    d.sections.push_back({p.name,
                          fmt::format("It has another shape than the reference: {}.", p.comparison.shape_problem),
                          {as_picture("yours", as_matrices(*p.got, {})[0], p.first_row, 0, *p.reference),
                           as_picture("the reference", as_matrices(want, {})[0], 0, 0, *p.reference)}});
    return d;
  }
  add_sections(d, p, want);
  return d;
}

}  // namespace rungs
