/// Inputs drawn at grade time: on these, too, a submission must agree with the solution.
///
/// Whoever computes never notices. An answer that was copied from a reference, or that looks only at shapes, is right
/// on the saved cases and wrong here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"
#include "rungs/grader/runner.hpp"

namespace rungs {

/// A case with other inputs, and what the solution makes of them.
struct DrawnCase {
  CaseInput input;
  std::vector<Recorded> outputs;
};

/// Drawn inputs of cases, by the case's name. Cases that have nothing to draw from have none.
using DrawnCases = std::map<std::string, std::vector<DrawnCase>>;

/// Draws twice for each case of the lesson's suites and runs the solution on it, whose runner must be built. Elements
/// of f32 tensors change places within their row and are scaled a little (but for rows that are probabilities), lists
/// of tokens and the characters of texts are shuffled, uniform draws are drawn again; shapes, positions and options
/// stay. A case with nothing of this is asked with larger sizes, where it counts something. Where the solution refuses
/// what was drawn, there is none.
DrawnCases draw_cases(const Lesson& lesson, uint64_t seed);

/// Whether an answer is the solution's: integers equal, all else within a thousandth of the largest value, or within 8
/// of the case's tolerances. It is coarse since two right programs may round apart, and wide enough for what is copied.
bool agrees(const Outcome& answer, const DrawnCase& drawn, const Case& c);

}  // namespace rungs
