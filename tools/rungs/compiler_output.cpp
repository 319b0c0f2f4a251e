#include "compiler_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

namespace rungs {

std::string compiler_output(const std::string& output, size_t most) {
  std::string text;
  bool is_command = false;
  size_t lines = 0;
  for (size_t begin = 0; begin < output.size();) {
    const size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    const auto begins_with = [&](const char* what) { return line.starts_with(what); };
    constexpr const char* of_the_build[] = {"[",
                                            "ninja:",
                                            "FAILED:",
                                            "collect2:",
                                            "clang: error: linker",
                                            "gmake",
                                            "In file included from " RUNGS_BINARY_DIR "/mine/"};
    const bool noise = std::any_of(std::begin(of_the_build), std::end(of_the_build), begins_with);
    if (!noise && !is_command && !line.empty() && ++lines <= most) text += line + "\n";
    is_command = line.starts_with("FAILED:");  // the next line is
    begin = end + 1;
  }
  return lines > most ? fmt::format("{}... and {} lines more\n", text, lines - most) : text;
}

std::string warnings(const std::string& output) {
  constexpr size_t most = 5;
  const std::string text = compiler_output(output, output.size());
  size_t end = 0, count = 0, begin = 0;
  for (size_t at = 0; (at = text.find(": warning: ", at)) != text.npos; ++at) {
    if (count == 0) begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    if (++count == most + 1) end = text.rfind('\n', at) + 1;
  }
  if (count == 0) return "";
  const std::string rest = count > most ? fmt::format("and {} more\n", count - most) : "";
  return fmt::format("It compiles, with a warning that may be the reason for what follows:\n{}{}\n",
                     text.substr(begin, end ? end - begin : text.npos), rest);
}

// GNU ld, gold, lld and mold each have their own words.
std::string missing_functions(const std::string& output) {
  static const std::regex missing("undefined (?:reference to [`']|symbol: )([^\n]*?)'?\n");
  std::set<std::string> lines;
  for (std::sregex_iterator m(output.begin(), output.end(), missing), end; m != end; ++m)
    lines.insert("  " + (*m)[1].str() + "\n");
  return fmt::format("{}", fmt::join(lines, ""));
}

/// The lines that show where an error is: "   12 |   code" and what marks it.
static std::string shown_code(const std::string& text, size_t at) {
  std::string lines;
  for (int n = 0; n < 2 && at < text.size(); ++n) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const size_t bar = line.find(" | ");
    if (bar == line.npos || line.find_first_not_of(" 0123456789") < bar) break;
    lines += line.substr(0, 200) + "\n";
    at = end + 1;
  }
  return lines;
}

std::string first_error(const std::string& output, const std::filesystem::path& file, const std::string& called) {
  constexpr size_t most = 300;
  const std::string text = compiler_output(output, output.size()), path = file.string();
  size_t count = 0, first = text.npos;
  bool own = false;
  for (size_t at = 0; (at = text.find("error: ", at)) != text.npos; ++at) {
    ++count;
    const size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
    const bool here = text.compare(line, path.size() + 1, path + ":") == 0;
    if (first == text.npos || (here && !own)) first = line, own = own || here;
  }
  if (count == 0) return text;
  const size_t end = std::min(text.find('\n', first), text.size());
  std::string line = text.substr(first, end - first);
  if (own) line.replace(0, path.size(), called);
  if (line.size() > most) line = line.substr(0, most) + "...";
  const std::string others = count > 1 ? fmt::format("The first of {} errors.\n", count) : "";
  return line + "\n" + shown_code(text, end + 1) + others;
}

}  // namespace rungs
