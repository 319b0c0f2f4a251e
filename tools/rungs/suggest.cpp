#include "suggest.hpp"

#include <algorithm>
#include <vector>

namespace rungs {

/// Optimal string alignment distance: three rows of its table are enough.
static size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string closest(const std::string& word, std::span<const std::string> candidates) {
  std::string best;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;  // as many as this are no longer near
  for (const std::string& candidate : candidates) {
    const size_t n = word.size() > 1 && candidate.starts_with(word) ? 1 : edits(word, candidate);
    if (n < fewest) fewest = n, best = candidate;
  }
  return best;
}

std::string did_you_mean(const std::string& word, std::span<const std::string> candidates) {
  const std::string near = closest(word, candidates);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

}  // namespace rungs
