#include "mutant.hpp"

#include <cstdio>
#include <cstdlib>
#include <regex>

namespace rungs::ptx {

/// Up to the next `|`, which is taken away too.
static std::string take(std::string& text) {
  const size_t bar = text.find('|');
  const std::string part = text.substr(0, bar);
  text = bar == text.npos ? "" : text.substr(bar + 1);
  return part;
}

std::string mutated(std::string_view text) {
  const char* wish = std::getenv("RUNGS_PTX_MUTANT");
  if (!wish) return std::string(text);
  std::string rest = wish;
  const std::string kernel = take(rest);
  const int which = std::atoi(take(rest).c_str());
  const std::regex find(take(rest));
  std::string out;
  bool inside = false;
  int seen = 0, changed = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    std::string line(text.substr(at, end - at));
    at = end;
    if (line.find(".entry ") != line.npos) inside = line.find(kernel) != line.npos, seen = 0;
    if (inside && std::regex_search(line, find) && (++seen == which || which == 0)) {
      line = std::regex_replace(line, find, rest);
      ++changed;
    }
    out += line;
  }
  if (changed > 0) std::fprintf(stderr, "PTX mutant: %d lines changed\n", changed);
  return out;
}

}  // namespace rungs::ptx
