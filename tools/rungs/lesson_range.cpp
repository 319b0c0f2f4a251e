#include "lesson_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "rungs/base/error.hpp"
#include "workspace.hpp"

namespace rungs {

static UsageError no_range(const std::string& words) {
  return UsageError(fmt::format("--lessons: wanted numbers like 01-05,14, found \"{}\"", words));
}

static int lesson_number(const std::string& word, const std::string& words) {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 1 || number > 99) throw no_range(words);
  return number;
}

std::vector<Lesson> lessons_in_range(const std::vector<Lesson>& all, const std::string& words) {
  std::vector<int> numbers;
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ',');) {
    const size_t dash = word.find('-');
    const int first = lesson_number(word.substr(0, dash), words),
              last = dash == word.npos ? first : lesson_number(word.substr(dash + 1), words);
    if (last < first) throw no_range(words);
    for (int n = first; n <= last; ++n) numbers.push_back(n);
  }
  if (numbers.empty()) throw no_range(words);
  for (const int n : numbers)
    if (std::none_of(all.begin(), all.end(), [n](const Lesson& l) { return l.number() == n; }))
      throw UsageError(fmt::format("--lessons: there is no lesson {:02}; `{} list` shows them all", n, typed()));
  std::vector<Lesson> named;
  for (const Lesson& l : all)
    if (std::find(numbers.begin(), numbers.end(), l.number()) != numbers.end()) named.push_back(l);
  return named;
}

}  // namespace rungs
