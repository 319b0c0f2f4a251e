/// What `rungs show` gathers before it draws.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "../commands.hpp"
#include "picture.hpp"
#include "rungs/grader/grade.hpp"
#include "rungs/grader/lesson.hpp"
#include "rungs/grader/runner.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs {

/// More tokens than this are not drawn, and of many layers and heads fewer: the squares of attention would be too small
/// to see, and the page too large.
inline constexpr int64_t most_tokens_shown = 64;

/// The text that is drawn where none was given.
inline constexpr const char* usual_text = "Lily had a red ball. She took the";

/// A text as a model gets it.
struct ShownText {
  std::vector<int32_t> ids;        ///< BOS first, where the model has one
  std::vector<std::string> names;  ///< of each
  std::string left_out;            ///< a sentence; "": nothing was
};

/// The first tokens of a text, as many as are drawn. \throws UsageError for a text that is empty or not UTF-8, or has a
/// part for which there is no token.
ShownText shown_text(const Tokenizer& tokenizer, const Config& config, const std::string& text);

/// What a picture calls a token: its text without the space before it, nothing that would command a terminal.
std::string shown_name(const Tokenizer& tokenizer, int32_t id);

/// softmax(mask(q · kᵀ / √D)) of every head.  q: (T, H, D) or (T, D); k: (T, G, D) or (T, D). Returns (H, T, T).
/// \throws ShapeError for heads that do not fit
Tensor attention_weights(const Tensor& q, const Tensor& k);

/// One picture for each head.  weights: (H, T, S) or (T, S); the queries are the last T of the S tokens. `kv_heads`: G.
std::vector<Picture> attention_pictures(const Tensor& weights, const std::vector<std::string>& names, int64_t kv_heads);

/// The rows of a matrix as cells.  values: (T, C)
Matrix matrix_of(const std::string& title, const Tensor& values, const std::vector<std::string>& rows,
                 const std::vector<std::string>& columns, Shades shades);

/// Each row in two dimensions: along the two directions in which the rows differ most, by principal component analysis.
/// rows: (N, C), N and C at least 2. Returns (N, 2).
Tensor principal_components(const Tensor& rows);

/// Runs functions of a lesson on inputs of our own, in a runner process, as the grader does.
class LessonRun {
 public:
  /// `program` is built. `called` stands in the errors: "work/05_attention.cpp", "the solution".
  explicit LessonRun(const Candidate& candidate)
      : runner_(candidate.program, candidate.implementation), called_(candidate.called) {}

  /// Runs one function; what it taps and gives is there afterwards, until the next.
  void run(const std::string& function, const std::string& model, NamedTensors in);
  /// A tap or an output of that run. \throws UsageError saying why it did not come.
  const Tensor& operator[](const std::string& name) const;
  bool has(const std::string& name) const;
  const Outcome& outcome() const { return outcome_; }
  /// Why the run ended early, as a sentence; "" when it did not.
  std::string why_it_ended() const;

 private:
  Runner runner_;
  std::string called_, function_;
  Outcome outcome_;
};

/// \name The three forms
///@{
Drawing draw_model(const ShowCommand& command);
Drawing draw_lesson(const ShowCommand& command);
Drawing draw_difference(const ShowCommand& command);
///@}

/// Builds whose code is drawn, unless the build itself draws. \throws UsageError where there is no such file, or where
/// it does not compile
Candidate built_candidate(Lesson& lesson, bool mine, bool build);

}  // namespace rungs
