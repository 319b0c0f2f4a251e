// lesson_diff OUT.html SOLUTION EARLIER...: what a lesson's solution changes and adds, as a piece of a page. Each
// function stands beside its newest earlier version. The classes are those with which Doxygen colours code, so that the
// piece looks like the code around it in light and dark.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Strings = std::vector<std::string>;

/// Matches of a sequence of n with one of m, in the order of both, with the largest sum of scores; a score of 0 is no
/// match. Entry i is the partner of i, or -1.
std::vector<int> align(size_t n, size_t m, const std::function<double(size_t, size_t)>& score) {
  std::vector<std::vector<double>> best(n + 1, std::vector<double>(m + 1, 0));  // of what begins at i and j
  std::vector<std::vector<double>> scores(n, std::vector<double>(m));
  for (size_t i = n; i-- > 0;)
    for (size_t j = m; j-- > 0;) {
      scores[i][j] = score(i, j);
      best[i][j] = std::max({best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + scores[i][j]});
    }
  std::vector<int> partner(n, -1);
  for (size_t i = 0, j = 0; i < n && j < m;) {
    if (scores[i][j] > 0 && best[i][j] == best[i + 1][j + 1] + scores[i][j])
      partner[i++] = int(j++);
    else if (best[i][j] == best[i + 1][j])
      ++i;
    else
      ++j;
  }
  return partner;
}

/// What a line or word weighs in a match: a shared brace must not outweigh a shared statement.
double weight(const std::string& text) {
  return 0.1 + double(std::count_if(text.begin(), text.end(), [](unsigned char c) { return !std::isspace(c); }));
}

bool in_word(unsigned char c) { return std::isalnum(c) || c == '_' || c >= 0x80; }

/// Identifiers and numbers, runs of spaces, and all else by single characters.
Strings words_of(const std::string& line) {
  Strings words;
  for (size_t i = 0; i < line.size();) {
    size_t end = i + 1;
    if (in_word(line[i]))
      while (end < line.size() && in_word(line[end])) ++end;
    else if (line[i] == ' ')
      while (end < line.size() && line[end] == ' ') ++end;
    words.push_back(line.substr(i, end - i));
    i = end;
  }
  return words;
}

/// The class that Doxygen would give to each character of a line of code.
std::vector<const char*> colours(const std::string& line) {
  static const std::set<std::string> flow{"for",  "while",  "if",      "else",     "return", "do",
                                          "case", "switch", "default", "continue", "break",  "throw"};
  static const std::set<std::string> types{"int",  "float",   "double",  "void",    "bool",
                                           "char", "int64_t", "int32_t", "uint8_t", "size_t"};
  static const std::set<std::string> keywords{"const",     "auto",   "using",    "namespace", "struct",
                                              "constexpr", "static", "template", "inline",    "class",
                                              "operator",  "true",   "false",    "nullptr",   "sizeof"};
  std::vector<const char*> colour(line.size(), "");
  const auto paint = [&](size_t from, size_t to, const char* name) {
    std::fill(colour.begin() + long(from), colour.begin() + long(to), name);
  };
  if (line.starts_with("#")) paint(0, line.size(), "preprocessor");
  size_t i = 0;
  for (const std::string& word : words_of(line)) {
    if (!*colour[i]) {
      if (line.compare(i, 2, "//") == 0) {
        paint(i, line.size(), "comment");
      } else if (word == "\"" || word == "'") {
        size_t end = i + 1;
        while (end < line.size() && line[end] != word[0]) end += line[end] == '\\' ? 2 : 1;
        paint(i, std::min(end + 1, line.size()), word == "\"" ? "stringliteral" : "charliteral");
      } else if (flow.count(word)) {
        paint(i, i + word.size(), "keywordflow");
      } else if (types.count(word)) {
        paint(i, i + word.size(), "keywordtype");
      } else if (keywords.count(word)) {
        paint(i, i + word.size(), "keyword");
      }
    }
    i += word.size();
  }
  return colour;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

/// A line of code in colour; the words whose partner is -1 are marked, unless `partner` is empty.
std::string code(const std::string& line, const std::vector<int>& partner) {
  const std::vector<const char*> colour = colours(line);
  std::vector<bool> marked(line.size(), false);
  const Strings words = words_of(line);
  for (size_t w = 0, at = 0; w < partner.size(); at += words[w++].size())
    if (partner[w] < 0) std::fill_n(marked.begin() + long(at), words[w].size(), true);

  std::string out;
  for (size_t i = 0, end; i < line.size(); i = end) {
    for (end = i + 1; end < line.size() && colour[end] == colour[i] && marked[end] == marked[i];) ++end;
    std::string piece = escaped(std::string_view(line).substr(i, end - i));
    if (*colour[i]) piece = fmt::format("<span class=\"{}\">{}</span>", colour[i], piece);
    out += marked[i] ? "<mark>" + piece + "</mark>" : piece;
  }
  return out;
}

std::string html_line(char sign, const std::string& code) {
  const char* kind = sign == '-' ? " removed" : sign == '+' ? " added" : "";
  return fmt::format("<div class=\"line{}\"><span class=\"lineno\">{} </span>{}</div>\n", kind, sign, code);
}

/// Lines that stay. A long stretch is folded, all but a few lines beside the changes.
std::string unchanged(const Strings& lines, bool first, bool last) {
  constexpr size_t context = 3;
  const size_t before = first ? 0 : context, after = last ? 0 : context;
  const bool fold = lines.size() > before + after + 2;
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (fold && i == before)
      out += fmt::format("<details><summary>{} lines stay</summary>\n", lines.size() - before - after);
    out += html_line(' ', code(lines[i], {}));
    if (fold && i + after + 1 == lines.size()) out += "</details>\n";
  }
  return out;
}

/// Lines that go and lines that come in their place. In two that are much alike, the words that differ are marked.
std::string changed(const Strings& gone, const Strings& come) {
  const auto words_aligned = [](const std::string& a, const std::string& b) {
    const Strings x = words_of(a), y = words_of(b);
    return align(x.size(), y.size(), [&](size_t i, size_t j) { return x[i] == y[j] ? weight(x[i]) : 0; });
  };
  const std::vector<int> pair = align(gone.size(), come.size(), [&](size_t i, size_t j) {
    const Strings words = words_of(gone[i]);
    const std::vector<int> same = words_aligned(gone[i], come[j]);
    double shared = 0;
    for (size_t w = 0; w < words.size(); ++w) shared += same[w] < 0 ? 0 : weight(words[w]);
    const double likeness = 2 * shared / (weight(gone[i]) + weight(come[j]));
    return likeness > 0.6 ? likeness : 0;
  });
  std::string removed, added;
  std::vector<int> pair_of_come(come.size(), -1);
  for (size_t i = 0; i < gone.size(); ++i) {
    if (pair[i] >= 0) pair_of_come[size_t(pair[i])] = int(i);
    removed +=
        html_line('-', code(gone[i], pair[i] < 0 ? std::vector<int>{} : words_aligned(gone[i], come[size_t(pair[i])])));
  }
  for (size_t j = 0; j < come.size(); ++j) {
    const int i = pair_of_come[j];
    added += html_line('+', code(come[j], i < 0 ? std::vector<int>{} : words_aligned(come[j], gone[size_t(i)])));
  }
  return removed + added;
}

Strings without_blank(Strings lines) {
  std::erase(lines, "");
  return lines;
}

/// Whether lines that stay between two changes say too little to keep these apart.
bool says_little(const Strings& lines) {
  return std::all_of(lines.begin(), lines.end(), [](const std::string& line) { return weight(line) < 2; });
}

std::string difference(const Strings& before, const Strings& after) {
  const std::vector<int> same = align(
      before.size(), after.size(), [&](size_t i, size_t j) { return before[i] == after[j] ? weight(before[i]) : 0; });
  std::string out;
  Strings gone, come;
  const auto flush = [&] {
    if (without_blank(gone).empty() && without_blank(come).empty())
      out += unchanged(come, false, false);  // empty lines are no change
    else
      out += changed(gone, come);
    gone.clear(), come.clear();
  };
  size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    const bool first = i == 0 && j == 0;
    Strings stay;
    while (i < before.size() && same[i] == int(j)) stay.push_back(before[i++]), ++j;
    const bool last = i == before.size() && j == after.size();
    const bool amid_much = gone.size() >= 3 || come.size() >= 3;
    if (!first && !last && amid_much && says_little(stay)) {
      gone.insert(gone.end(), stay.begin(), stay.end());
      come.insert(come.end(), stay.begin(), stay.end());
    } else {
      flush();
      out += unchanged(stay, first, last);
    }
    while (i < before.size() && same[i] < 0) gone.push_back(before[i++]);
    const size_t next = i < before.size() ? size_t(same[i]) : after.size();
    while (j < next) come.push_back(after[j++]);
  }
  flush();
  return out;
}

/// A function of a solution with the comment above it.
struct Function {
  std::string name;
  Strings lines;
};

struct Solution {
  std::string lesson;  // "lesson 5"
  std::vector<Function> functions;
};

/// The identifier before the first parenthesis.
std::string name_of(const Strings& lines) {
  for (const std::string& line : lines) {
    const size_t end = line.find('(');
    if (line.starts_with("//") || end == line.npos) continue;
    size_t begin = end;
    while (begin > 0 && in_word(line[begin - 1])) --begin;
    return line.substr(begin, end - begin);
  }
  return "";
}

/// The functions in the namespace of a solution, without the lines that mark what a learner writes.
Solution solution_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("{} cannot be read", path.string()));
  Solution solution{fmt::format("lesson {}", std::stoi(path.parent_path().filename().string())), {}};
  Strings chunk;
  bool inside = false, in_sentence = false;
  const auto end_chunk = [&] {
    while (!chunk.empty() && chunk.back().empty()) chunk.pop_back();
    if (const std::string name = name_of(chunk); !name.empty()) solution.functions.push_back({name, chunk});
    chunk.clear();
  };
  for (std::string line; std::getline(file, line);) {
    const std::string text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const bool ends = line.starts_with("}  // namespace"), begins_another = !line.empty() && !line.starts_with(" ");
    if (inside && (ends || (begins_another && !chunk.empty() && chunk.back().empty()))) end_chunk();
    if (ends) inside = false;
    in_sentence = text.starts_with("// >>>") || (in_sentence && text.starts_with("//"));
    if (inside && !in_sentence && text != "// <<<") chunk.push_back(line);
    if (line.starts_with("namespace ")) inside = true;
  }
  return solution;
}

std::string page_of(const Solution& solution, const std::vector<Solution>& earlier) {
  std::string out;
  for (const Function& now : solution.functions) {
    const Function* before = nullptr;
    std::string lesson;
    for (const Solution& e : earlier)
      for (const Function& f : e.functions)
        if (f.name == now.name) before = &f, lesson = e.lesson;
    const std::string name = fmt::format("<p class=\"difference\"><code>{}</code>", now.name);
    if (before && without_blank(before->lines) == without_blank(now.lines)) {
      out += fmt::format("{} is that of {}.</p>\n", name, lesson);
      continue;
    }
    out += before ? fmt::format("{} differs from that of {}:</p>\n", name, lesson) : name + " is new:</p>\n";
    out += fmt::format("<div class=\"fragment difference\">\n{}</div>\n",
                       before ? difference(before->lines, now.lines) : changed({}, now.lines));
  }
  return out;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3) throw std::runtime_error("usage: lesson_diff OUT.html SOLUTION EARLIER...");
  const Solution solution = solution_of(arguments[2]);
  std::vector<Solution> earlier;
  for (int i = 3; i < count; ++i) earlier.push_back(solution_of(arguments[i]));
  std::ofstream out(arguments[1]);
  out << page_of(solution, earlier);
  if (!out.flush()) throw std::runtime_error(fmt::format("{} cannot be written", arguments[1]));
} catch (const std::exception& e) {
  fmt::print(stderr, "lesson_diff: {}\n", e.what());
  return 1;
}
