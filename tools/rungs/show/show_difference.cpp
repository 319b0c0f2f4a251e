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

/// Three matrices on one scale; cells of the difference over the tolerance are marked.
std::vector<Picture> three(const Tensor& yours, const Tensor& reference, const Compared& p, const std::string& which,
                           size_t at) {
  Matrix a = as_picture("yours" + which, yours, p.first_row, 0, *p.reference);
  Matrix b = as_picture("the reference" + which, reference, p.first_row, 0, *p.reference);
  Matrix d = as_picture("the difference" + which, yours, p.first_row, 0, *p.reference);
  const Tensor& each = p.reference->each;
  for (size_t i = 0; i < d.values.size(); ++i) {
    d.values[i] = a.values[i] == b.values[i] ? 0 : a.values[i] - b.values[i];
    const double tolerance = each && p.first_row == 0 && each.count() == p.reference->value.count()
                                 ? each.value(int64_t(at + i))
                                 : p.reference->absolute;
    d.marked.push_back(!(std::fabs(d.values[i]) <= tolerance));
  }
  a.most = b.most = d.most = std::max(scale_of(a), scale_of(b));
  return {a, b, d};
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
  throw UsageError(
      fmt::format("{} passes every case, so there is no difference to draw; `rungs show {} --mine` draws what it does",
                  candidate.called, lesson.name.substr(0, 2)));
}

const Compared& chosen(const std::vector<Compared>& all, const std::string& tap, const Failure& failure) {
  const auto wrong = [](const Compared& p) { return !p.comparison.pass; };
  const std::string name = failure.cases[failure.at].input.name;
  if (tap.empty()) {
    const auto it = std::find_if(all.begin(), all.end(), wrong);
    if (it == all.end())
      throw UsageError(
          fmt::format("case {}: {}; none of what came back can be compared", name, failure.verdict.summary));
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
  const std::vector<Compared> all = compare_all(failure.verdict.outcome.recording, c);
  const Compared& p = chosen(all, command.tap, failure);
  const ConstTensor want = window(*p.reference, *p.got, p.first_row);

  Drawing d{fmt::format("{}, {}: {}", lesson.name, failure.suite, c.input.name), candidate.called, {}, {}};
  d.notes.push_back(c.says + ".");
  if (!failure.verdict.summary.empty()) d.notes.push_back(failure.verdict.summary);
  if (!p.comparison.shape_problem.empty()) {
    d.sections.push_back({p.name,
                          fmt::format("It has another shape than the reference: {}.", p.comparison.shape_problem),
                          {as_picture("yours", as_matrices(*p.got, {})[0], p.first_row, 0, *p.reference),
                           as_picture("the reference", as_matrices(want, {})[0], p.first_row, 0, *p.reference)}});
    return d;
  }
  const ConstTensor yours = as_matrices(*p.got, p.reference->dims), reference = as_matrices(want, p.reference->dims);
  std::vector<Picture> pictures;
  const int64_t one = yours.dim(1) * yours.dim(2);
  for (int64_t m = 0; m < yours.dim(0); ++m)
    for (Picture& picture :
         three(yours[m], reference[m], p, yours.dim(0) > 1 ? fmt::format(", head {}", m) : "", size_t(m * one)))
      pictures.push_back(std::move(picture));
  const std::string place =
      p.comparison.pass
          ? "all are within the tolerance"
          : fmt::format("{} of {} over the tolerance, the worst {}: yours {}, reference {}", p.comparison.wrong,
                        p.comparison.count, place_of(p.comparison.worst, want.shape(), p.reference->dims),
                        number(p.comparison.got), number(p.comparison.want));
  d.sections.push_back({fmt::format("{} {}", p.name, to_string(p.got->shape())),
                        fmt::format("Values: {}. An x or a frame marks what is over it.", place), std::move(pictures)});
  return d;
}

}  // namespace rungs
