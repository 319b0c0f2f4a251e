#include "given_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "rungs/base/file.hpp"

namespace rungs {

std::string AskedCode::statement(const std::string& line) {
  constexpr std::ptrdiff_t least = 16;
  std::string text = line.substr(0, line.find("//"));
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  const auto tells = std::count_if(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  const bool plain_call = text.starts_with("lesson_") && text.find('.') == text.npos;  // as that lesson's header has it
  return tells < least || plain_call || text.ends_with('{') || text.ends_with(')') ? "" : text;
}

/// A statement is asked for where it stands between markers, unless what that lesson or one before it gives has it too.
AskedCode::AskedCode(const std::vector<Lesson>& lessons) {
  std::set<std::string> given;
  for (const Lesson& lesson : lessons) {
    if (!lesson.has_solution()) continue;
    std::istringstream text(read_text(lesson.solution));
    std::vector<std::string> asked;
    bool inside = false;
    for (std::string line; std::getline(text, line);) {
      const bool begins = line.find("// >>>") != line.npos, ends = line.find("// <<<") != line.npos;
      inside = (inside || begins) && !ends;
      if (begins || ends || statement(line).empty()) continue;
      if (inside)
        asked.push_back(statement(line));
      else if (!first_asked_.contains(statement(line)))
        given.insert(statement(line));
    }
    for (const std::string& s : asked)
      if (!given.contains(s)) first_asked_.emplace(s, lesson.name);
  }
}

std::string AskedCode::without_earlier_answers(const std::string& starter, const std::string& lesson) const {
  std::istringstream text(starter);
  std::string out, cut_before;  // the lesson whose lines were cut just now
  for (std::string line; std::getline(text, line);) {
    const auto it = first_asked_.find(statement(line));
    if (it == first_asked_.end() || it->second >= lesson) {
      cut_before.clear();
      out += line + "\n";
    } else if (it->second != cut_before) {
      cut_before = it->second;
      const std::string indent = line.substr(0, line.find_first_not_of(' '));
      out += fmt::format("{0}not_written(\"as in your {1}\");  // copy it from there\n", indent, it->second);
    }
  }
  return out;
}

}  // namespace rungs
