/// Steps one and two of a grade: what is wrong with the answer, and where it first goes wrong.
#pragma once

#include <string>
#include <vector>

#include "rungs/grader/case.hpp"
#include "rungs/grader/recording.hpp"

namespace rungs {

/// How a run of a case ended, and what it produced until then.
struct Outcome {
  enum How { done, not_written, threw, died } how = died;
  std::string says;   ///< the step that is not written, what it threw, how it died
  std::string calls;  ///< that led to what it threw, or to the crash, for line_of
  Recording recording;
  bool too_late = false;      ///< it was still running when its time was over
  bool no_exception = false;  ///< what it threw is no std::exception: `throw 42`
};

/// Whether another content of fresh memory than NaN may give another outcome than this one, which had NaN there: not
/// where all that came is f32 and none of it NaN. What did not come to its end in time is not asked again either.
bool may_show_fresh_memory(const Outcome& outcome);

/// One piece beside its window of the reference.
struct Compared {
  std::string name;
  const Reference* reference;
  Comparison comparison;
  int64_t first_row;  ///< of the reference's window
  const ConstTensor* got;
};

/// Whether a case passed, and why not.
struct Verdict {
  bool pass = false;
  std::string summary;         ///< one sentence when it did not pass
  double fraction = 0;         ///< of the tolerance, used by the worst output
  bool too_much_work = false;  ///< every output is right, but something was computed twice
  bool saved_alone = false;    ///< right on the saved inputs, and on none that were drawn anew
  Outcome outcome;
};

/// Compares every output with its reference; all of each must have come, all must be right, and nothing may be computed
/// twice.
Verdict judge(Outcome outcome, const Case& c);

/// Every recorded piece that has a reference, in the order in which it was recorded.
std::vector<Compared> compare_all(const Recording& recording, const Case& c);
/// The same of a run. Where that came to its end, the last piece of a tensor is wrong if rows of it are missing; but a
/// tap may be left out of some of the calls.
std::vector<Compared> compare_all(const Outcome& outcome, const Case& c);

/// The part of a reference that a piece covers: rows from first_row, and for scores against fewer keys the first
/// columns.
ConstTensor window(const Reference& reference, const Tensor& got, int64_t first_row);

/// Step two in words: which taps are right, the first that differs, its worst element, and small matrices in full.
std::string describe(const Verdict& verdict, const Case& c);

}  // namespace rungs
