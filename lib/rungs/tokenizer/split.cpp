#include "rungs/tokenizer/split.hpp"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "rungs/base/error.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

const char* const gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

/// PCRE2's \s holds U+180E, which Unicode took out of White_Space in 6.3; the engines of the reference libraries follow
/// Unicode. So \s and \S are written out.
std::string with_unicode_spaces(const std::string& expression) {
  const std::string spaces = R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
  std::string changed;
  bool in_class = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      const char next = expression[++i];
      if (next == 's')
        changed += in_class ? spaces : "[" + spaces + "]";
      else if (next == 'S' && !in_class)
        changed += "[^" + spaces + "]";
      else
        changed += {c, next};
      continue;
    }
    in_class = in_class ? c != ']' : c == '[';
    changed += c;
  }
  return changed;
}

}  // namespace

struct Pattern::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

Pattern::Pattern(const std::string& expression) {
  const std::string text = with_unicode_spaces(expression);
  int error = 0;
  size_t at = 0;
  const auto compiled = std::make_shared<Code>();
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF | PCRE2_UCP, &error,
                                 &at, nullptr);
  if (!compiled->code)
    throw UsageError(fmt::format("the pattern {:?} is no regular expression: {}", expression, message_of(error)));
  pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);  // where there is no JIT, it matches without
  code_ = compiled;
}

void Pattern::each_match(std::string_view text, const std::function<void(size_t, size_t)>& on_match) const {
  if (!is_utf8(text)) throw UsageError("a text that is not UTF-8 cannot be split");
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(pcre2_match_data_create(1, nullptr),
                                                                             pcre2_match_data_free);
  const PCRE2_SIZE* const found = pcre2_get_ovector_pointer(match.get());
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (size_t at = 0; at < text.size();) {
    const int result = pcre2_match(code_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
    if (result == PCRE2_ERROR_NOMATCH) return;
    if (result < 0) throw UsageError("the text cannot be split: " + message_of(result));
    const size_t begin = std::max(found[0], at), end = std::max(found[1], at);  // \K can say that a match begins before
    if (end > begin) on_match(begin, end);
    at = end > begin ? end : end + first_character(text.substr(end)).length;
    if (end == text.size()) return;
  }
}

std::vector<std::string_view> split(std::string_view text, const Pattern& pattern) {
  std::vector<std::string_view> pieces;
  size_t done = 0;
  pattern.each_match(text, [&](size_t begin, size_t end) {
    if (begin > done) pieces.push_back(text.substr(done, begin - done));
    pieces.push_back(text.substr(begin, end - begin));
    done = end;
  });
  if (done < text.size()) pieces.push_back(text.substr(done));
  return pieces;
}

}  // namespace rungs
