#include "lesson_range.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <sstream>

#include "rungs/base/error.hpp"
#include "workspace.hpp"

namespace rungs {

static UsageError no_range(const std::string& words) {
  return UsageError(
      fmt::format("--lessons: wanted lessons that are there, such as 01-05,14, found \"{}\"; `{} list` "
                  "shows them all",
                  words, typed()));
}

static int lesson_number(const std::string& word, const std::string& words) {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 1 || number > 99) throw no_range(words);
  return number;
}

/// Whether one word between commas names a lesson: "08" and "08b" that one alone, "05-08" those between them, too.
static bool names(const std::string& word, const std::string& words, const Lesson& lesson) {
  const size_t dash = word.find('-');
  if (dash == word.npos) return lesson.short_name() == (word.size() < 2 ? "0" + word : word);
  const int first = lesson_number(word.substr(0, dash), words), last = lesson_number(word.substr(dash + 1), words);
  if (last < first) throw no_range(words);
  return first <= lesson.number() && lesson.number() <= last;
}

std::vector<Lesson> lessons_in_range(const std::vector<Lesson>& all, const std::string& words) {
  std::set<std::string> named;
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ',');) {
    const size_t before = named.size();
    for (const Lesson& l : all)
      if (names(word, words, l)) named.insert(l.name);
    if (named.size() == before) throw no_range(words);
  }
  std::vector<Lesson> chosen;
  for (const Lesson& l : all)
    if (named.contains(l.name)) chosen.push_back(l);
  if (chosen.empty()) throw no_range(words);
  return chosen;
}

}  // namespace rungs
