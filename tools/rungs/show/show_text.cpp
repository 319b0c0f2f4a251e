// What all forms of `rungs show` share: texts, attention weights, matrices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../prompts.hpp"
#include "rungs/base/text.hpp"
#include "rungs/base/units.hpp"
#include "rungs/tokenizer/utf8.hpp"
#include "show.hpp"

namespace rungs {

std::string shown_name(const Tokenizer& tokenizer, int32_t id) {
  const std::string bytes = tokenizer.name_of(id);
  std::string name;
  if (!is_utf8(bytes))
    for (const char c : bytes) name += fmt::format("\\x{:02x}", uint8_t(c));
  else
    for (const char c : bytes) name += c == '\n' ? "\\n" : std::string(1, c);
  if (name.starts_with("▁")) name.replace(0, 3, " ");  // SentencePiece writes a space so
  if (name.size() > 1 && name[0] == ' ') name.erase(0, 1);
  return printable(name);
}

/// As many tokens as keep the squares of all heads a page that a browser opens.
static int64_t most_tokens(const Config& config) {
  constexpr double cells = 400'000;
  const auto heads = double(std::max<int64_t>(1, config.num_layers * config.num_heads));
  return std::clamp(int64_t(std::sqrt(cells / heads)), std::min<int64_t>(12, config.max_seq_len),
                    std::min(most_tokens_shown, config.max_seq_len));
}

ShownText shown_text(const Tokenizer& tokenizer, const Config& config, const std::string& text) {
  if (text.empty()) throw UsageError("the text to show is empty");
  ShownText shown{make_prompt(tokenizer, config, text).tokens, {}, ""};
  const auto all = int64_t(shown.ids.size()), most = most_tokens(config);
  if (all > most) {
    shown.ids.resize(size_t(most));
    shown.left_out = fmt::format("The text has {} tokens; the model got the first {}, and the other {} are not drawn.",
                                 with_commas(all), most, with_commas(all - most));
  }
  for (const int32_t id : shown.ids) shown.names.push_back(shown_name(tokenizer, id));
  return shown;
}

void LessonRun::run(const std::string& function, const std::string& model, NamedTensors in) {
  function_ = function;
  CaseInput input;
  input.name = "show", input.run = function, input.model = model, input.in = std::move(in);
  outcome_ = runner_.run(input);
}

std::string LessonRun::why_it_ended() const {
  if (function_.empty()) return "";  // nothing has run
  switch (outcome_.how) {
    case Outcome::done:
      return "";
    case Outcome::not_written:
      return fmt::format("{} of {} is not written to its end: {}", function_, called_, outcome_.says);
    case Outcome::threw:
      return fmt::format("{} of {} threw: {}", function_, called_, outcome_.says);
    case Outcome::died:
      break;
  }
  return fmt::format("{} of {}: {}", function_, called_, outcome_.says);
}

bool LessonRun::has(const std::string& name) const {
  return std::any_of(outcome_.recording.pieces.begin(), outcome_.recording.pieces.end(),
                     [&](const Recorded& piece) { return piece.name == name; });
}

const Tensor& LessonRun::operator[](const std::string& name) const {
  for (const Recorded& piece : outcome_.recording.pieces)
    if (piece.name == name) return piece.value;
  const std::string why = why_it_ended();
  throw UsageError(why.empty() ? fmt::format("{} of {} has no tap {} to draw", function_, called_, name) : why);
}

}  // namespace rungs
