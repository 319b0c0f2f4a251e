#include "rungs/tokenizer/longest_match.hpp"

#include <algorithm>

namespace rungs {

namespace {

/// A name with its first eight bytes as a number, which nearly always say which of two comes first.
struct Sortable {
  uint64_t front;
  LongestMatch::Name name;
  bool operator<(const Sortable& o) const { return front != o.front ? front < o.front : name.text < o.name.text; }
};

uint64_t front_of(std::string_view text) {
  uint64_t front = 0;
  for (size_t i = 0; i < 8; ++i) front = front << 8 | (i < text.size() ? uint8_t(text[i]) : 0);
  return front;
}

}  // namespace

LongestMatch::LongestMatch(const std::vector<Name>& names) {
  std::vector<Sortable> sorted;
  sorted.reserve(names.size()), names_.reserve(names.size());
  for (const Name& name : names) sorted.push_back({front_of(name.text), name});
  std::stable_sort(sorted.begin(), sorted.end());
  for (const Sortable& s : sorted)
    if (names_.empty() || names_.back().text != s.name.text) names_.push_back(s.name);
  for (const Name& name : names_) ++begin_[uint8_t(name.text[0]) + 1];
  for (size_t byte = 0; byte < 256; ++byte) begin_[byte + 1] += begin_[byte];
}

const LongestMatch::Name* LongestMatch::find(std::string_view text) const {
  if (text.empty()) return nullptr;
  const Name* longest = nullptr;
  const Name* first = names_.data() + begin_[uint8_t(text[0])];
  const Name* last = names_.data() + begin_[uint8_t(text[0]) + 1];
  for (size_t at = 1; first != last; ++at) {  // all of these begin with the first `at` bytes of the text
    if (first->text.size() == at) longest = first++;
    if (at == text.size()) break;
    const auto byte_of = [at](const Name& name) { return int(uint8_t(name.text[at])); };
    const int byte = uint8_t(text[at]);
    first = std::partition_point(first, last, [&](const Name& name) { return byte_of(name) < byte; });
    last = std::partition_point(first, last, [&](const Name& name) { return byte_of(name) == byte; });
  }
  return longest;
}

}  // namespace rungs
