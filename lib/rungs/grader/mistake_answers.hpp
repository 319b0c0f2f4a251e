/// What the known mistakes of a lesson answer: asked when first wanted, or where their code is not handed out, as it
/// was recorded.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rungs/grader/judge.hpp"
#include "rungs/grader/lesson.hpp"
#include "rungs/grader/runner.hpp"

namespace rungs {

/// The mistakes of one lesson, by their place in Lesson::mistakes. What one has answered is kept.
class MistakeAnswers {
 public:
  /// Reads Lesson::recorded where there is no solution, and so no code of a mistake. `lesson` must outlive it.
  /// \throws FileError when the record is cut off or is none
  explicit MistakeAnswers(const Lesson& lesson);

  const Lesson& lesson() const { return lesson_; }

  /// How mistake k answers the input of a case with noise in fresh memory. Of a record every output, and no tap behind
  /// the first wrong one; what it does not know died.
  const Outcome& with_noise(size_t k, const Case& c);
  /// Whether mistake k passes a case.
  bool passes(size_t k, const Case& c);

 private:
  /// Of one mistake on one case.
  struct Answer {
    std::optional<bool> passes = {};
    std::optional<Outcome> with_noise = {};
  };
  void read_record(const std::filesystem::path& file);
  Answer& answer(size_t k, const Case& c) { return answers_[{lesson_.mistakes[k].name, c.input.name}]; }
  Answer& judged(size_t k, const Case& c);

  const Lesson& lesson_;
  std::vector<Runner> runners_;                                    ///< none where answers are recorded
  std::map<std::pair<std::string, std::string>, Answer> answers_;  ///< by mistake and case
};

/// A runner for each known mistake, started when first used.
std::vector<Runner> mistake_runners(const Lesson& lesson);

/// Asks every known mistake on every case of both suites, and writes what MistakeAnswers reads: the runner's messages,
/// an input's name in front of each answer. \throws FileError, Error when the mistakes are not built
void record_mistakes(const Lesson& lesson, const std::filesystem::path& file);

}  // namespace rungs
