/// What the known mistakes of a lesson answer: asked now, or where their code is not handed out, as it was recorded.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rungs/grader/judge.hpp"
#include "rungs/grader/lesson.hpp"
#include "rungs/grader/runner.hpp"

namespace rungs {

/// The mistakes of one lesson, by their place in Lesson::mistakes.
class MistakeAnswers {
 public:
  /// Reads Lesson::recorded where there is no solution, and so no code of a mistake. `lesson` must outlive it.
  /// \throws FileError when the record is cut off or is none
  explicit MistakeAnswers(const Lesson& lesson);

  /// How mistake k answers this input. A record knows inputs by the name of their case, and answers given with noise in
  /// fresh memory; of them every output, and no tap behind the first wrong one. What it does not know died.
  Outcome run(size_t k, const CaseInput& in);
  /// Whether mistake k passes a case.
  bool passes(size_t k, const Case& c);

 private:
  /// Of one mistake on one case.
  struct Answer {
    bool passes = false;
    Outcome outcome;
  };
  void read_record(const std::filesystem::path& file);
  const Answer* recorded(size_t k, const std::string& name) const;

  const Lesson& lesson_;
  std::vector<Runner> runners_;                                    ///< none where answers are recorded
  std::map<std::pair<std::string, std::string>, Answer> answers_;  ///< by mistake and case
};

/// Asks every known mistake on every case of both suites, and writes what MistakeAnswers reads: the runner's messages,
/// an input's name in front of each answer. \throws FileError, Error when the mistakes are not built
void record_mistakes(const Lesson& lesson, const std::filesystem::path& file);

}  // namespace rungs
