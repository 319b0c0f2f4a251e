/// Cutting a text into the pieces that a tokenizer treats one by one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rungs {

/// The pattern that GPT-2 cuts texts with. Every character is in a piece.
extern const char* const gpt2_pattern;
/// The one of Llama 3.
extern const char* const llama3_pattern;

/// A regular expression, compiled once by PCRE2, with Unicode classes.
class Pattern {
 public:
  /// \throws UsageError saying what is wrong with the expression, and where.
  explicit Pattern(const std::string& expression);

  /// Every match in a text, from left to right. \throws UsageError when the text is not UTF-8.
  void each_match(std::string_view text, const std::function<void(size_t begin, size_t end)>& on_match) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

/// The pieces of a text: the matches, and what stands between them; nothing is lost. They look into `text`.
/// \throws UsageError when the text is not UTF-8.
std::vector<std::string_view> split(std::string_view text, const Pattern& pattern);

}  // namespace rungs
