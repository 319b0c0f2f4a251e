#include "rungs/tokenizer/normalizer.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "rungs/base/fields.hpp"
#include "rungs/base/json.hpp"
#include "rungs/tokenizer/split.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

using nlohmann::json;

Matcher read_pattern(const json& pattern, const std::string& where) {
  if (pattern.is_object() && pattern.contains("String") && pattern["String"].is_string()) {
    const auto wanted = pattern["String"].get<std::string>();
    if (wanted.empty()) throw FileError(where + ": the pattern is empty");
    return [wanted](std::string_view text, const auto& on_match) {
      for (size_t at = 0; (at = text.find(wanted, at)) != std::string_view::npos; at += wanted.size())
        on_match(at, at + wanted.size());
    };
  }
  if (!pattern.is_object() || !pattern.contains("Regex") || !pattern["Regex"].is_string())
    throw FileError(fmt::format("{}: pattern: wanted a String or a Regex, found {}", where, brief(pattern)));
  try {
    return [compiled = Pattern(pattern["Regex"].get<std::string>())](std::string_view text, const auto& on_match) {
      compiled.each_match(text, on_match);
    };
  } catch (const UsageError& e) {
    throw FileError(where + ": " + e.what());
  }
}

namespace {

bool is_ascii(std::string_view text) {
  for (const char c : text)
    if (c & 0x80) return false;
  return true;
}

int combining_class(utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; }

/// The text in one of Unicode's normal forms. ASCII is in all of them. utf8proc_map does the same, but sorts the marks
/// that follow a letter by exchanging neighbours, which for 100 KB of them takes seconds.
std::string normal_form(const std::string& text, utf8proc_option_t options) {
  if (is_ascii(text)) return text;
  std::vector<utf8proc_int32_t> codes;
  const auto checked = [](utf8proc_ssize_t size) {
    if (size < 0) throw UsageError(std::string("the text cannot be normalized: ") + utf8proc_errmsg(size));
    return size_t(size);
  };
  for (std::string_view left = text; !left.empty();) {
    const Character c = first_character(left);
    utf8proc_int32_t parts[32];  // Unicode's longest has 18
    int boundary = 0;
    const size_t count =
        checked(utf8proc_decompose_char(utf8proc_int32_t(c.code), parts, std::size(parts), options, &boundary));
    codes.insert(codes.end(), parts, parts + std::min(count, std::size(parts)));
    left.remove_prefix(size_t(c.length));
  }
  for (auto begin = codes.begin(); begin != codes.end();) {
    const auto is_mark = [](utf8proc_int32_t code) { return combining_class(code) != 0; };
    begin = std::find_if(begin, codes.end(), is_mark);
    const auto end = std::find_if_not(begin, codes.end(), is_mark);
    std::stable_sort(begin, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
  codes.resize(checked(utf8proc_normalize_utf32(codes.data(), utf8proc_ssize_t(codes.size()), options)));
  std::string normal;
  for (const utf8proc_int32_t code : codes) append_utf8(normal, uint32_t(code));
  return normal;
}

std::string lowercase(std::string_view text) {
  std::string lower;
  for (; !text.empty(); text.remove_prefix(first_character(text).length)) {
    const uint32_t code = first_character(text).code;
    append_utf8(lower, code == 0x130 ? 'i' : uint32_t(utf8proc_tolower(utf8proc_int32_t(code))));
    if (code == 0x130) append_utf8(lower, 0x307);  // the one letter whose small form is two characters
  }
  return lower;
}

std::string replaced(const std::string& text, const Matcher& matches, const std::string& by) {
  std::string changed;
  size_t done = 0;
  matches(text, [&](size_t begin, size_t end) {
    changed.append(text, done, begin - done).append(by);
    done = end;
  });
  return changed.append(text, done);
}

bool is_space(uint32_t code) {
  return (code >= 9 && code <= 13) || code == 0x85 ||
         utf8proc_category(utf8proc_int32_t(code)) == UTF8PROC_CATEGORY_ZS || code == 0x2028 || code == 0x2029;
}

std::string stripped(std::string_view text, bool left, bool right) {
  while (left && !text.empty() && is_space(first_character(text).code))
    text.remove_prefix(first_character(text).length);
  while (right && !text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && (text[last] & 0xC0) == 0x80) --last;
    if (!is_space(first_character(text.substr(last)).code)) break;
    text = text.substr(0, last);
  }
  return std::string(text);
}

}  // namespace

Normalizer read_normalizer(const json& description, const std::string& where) {
  if (description.is_null()) return [](std::string text) { return text; };
  const std::string type = Fields(description, where).text("type");
  if (type == "Sequence") {
    std::vector<Normalizer> steps;
    for (const json& step : Fields(description, where).list("normalizers"))
      steps.push_back(read_normalizer(step, where));
    return [steps](std::string text) {
      for (const Normalizer& step : steps) text = step(std::move(text));
      return text;
    };
  }
  if (type == "Prepend")
    return [prefix = Fields(description, where).text("prepend")](const std::string& text) {
      return text.empty() ? text : prefix + text;
    };
  if (type == "Replace")
    return [matches = read_pattern(description.value("pattern", json()), where + ": Replace"),
            by = Fields(description, where).text("content")](const std::string& text) {
      return replaced(text, matches, by);
    };
  const auto form = [](int options) {
    return [options](const std::string& text) { return normal_form(text, utf8proc_option_t(options)); };
  };
  if (type == "NFC") return form(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  if (type == "NFD") return form(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
  if (type == "NFKC") return form(UTF8PROC_COMPOSE | UTF8PROC_STABLE | UTF8PROC_COMPAT);
  if (type == "NFKD") return form(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | UTF8PROC_COMPAT);
  if (type == "Lowercase") return [](const std::string& text) { return lowercase(text); };
  if (type == "Strip")
    return [left = Fields(description, where).truth("strip_left", true),
            right = Fields(description, where).truth("strip_right", true)](const std::string& text) {
      return stripped(text, left, right);
    };
  throw unknown_type(where, type, "Sequence, Prepend, Replace, NFC, NFD, NFKC, NFKD, Lowercase, Strip");
}

}  // namespace rungs
