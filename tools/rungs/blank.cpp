#include "blank.hpp"

#include <algorithm>
#include <vector>

namespace rungs {

/// "void sdpa(Tensor& out, ...) {" gives "sdpa".
static std::string name_of_function(const std::string& head) {
  const size_t end = head.find('('), begin = head.find_last_of(" *&", end);
  return head.substr(begin + 1, end - begin - 1);
}

// In our layout a function begins with a line at the margin that has its name, and ends with a brace there.
std::string blank(const std::string& starter) {
  std::string out;
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < starter.size();) {
    const size_t end = std::min(starter.find('\n', begin), starter.size());
    lines.push_back(starter.substr(begin, end - begin));
    begin = end + 1;
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool at_margin = !lines[i].empty() && lines[i][0] != ' ' && lines[i][0] != '#' && lines[i][0] != '/';
    const bool is_function = at_margin && lines[i].find('(') != std::string::npos;
    size_t open = i, close = i;
    while (is_function && open < lines.size() && !lines[open].ends_with('{') && !lines[open].ends_with(';')) ++open;
    const bool has_body = is_function && open < lines.size() && lines[open].ends_with('{');
    while (has_body && close < lines.size() && lines[close] != "}") ++close;
    bool step = false;
    for (size_t k = open; k < close; ++k) step = step || lines[k].find("not_written(") != std::string::npos;
    if (!step || close == lines.size()) {
      out += lines[i] + "\n";
      continue;
    }
    for (size_t k = i; k <= open; ++k) out += lines[k] + "\n";
    out += "  not_written(\"" + name_of_function(lines[i]) + ", all of it\");\n}\n";
    i = close;
  }
  return out;
}

}  // namespace rungs
