/// What of a solution a learner is given, and what is asked of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// The statements that lessons ask for, so that none of them is in what another lesson gives.
class AskedCode {
 public:
  /// Reads every solution, in the order of the lessons. \throws FileError
  explicit AskedCode(const std::vector<Lesson>& lessons);

  /// A lesson's starter with what an earlier lesson asked for cut out: each run of such lines becomes
  /// not_written("as in your 05_attention").
  std::string without_earlier_answers(const std::string& starter, const std::string& lesson) const;

  /// A line as it is compared: without white space and comment; "" where it is too common to tell anything: fewer than
  /// 16 letters and digits, no whole statement, or a call of another lesson's function with names alone.
  static std::string statement(const std::string& line);

 private:
  std::map<std::string, std::string> first_asked_;  ///< statements, by the first lesson that asks for them
};

}  // namespace rungs
