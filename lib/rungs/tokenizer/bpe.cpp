#include "rungs/tokenizer/bpe.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <queue>

namespace rungs {

namespace {

constexpr size_t short_word = 48;              // symbols up to which looking through all pairs is faster than a heap
constexpr size_t most_seen = size_t(1) << 17;  // words remembered

uint64_t key_of(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

std::u32string_view as_text(std::span<const int32_t> symbols) {
  return {reinterpret_cast<const char32_t*>(symbols.data()), symbols.size()};
}

}  // namespace

void Merges::Table::reserve(size_t count) {
  const size_t size = std::bit_ceil(2 * count + 2);
  slots_.assign(size, {});
  shift_ = 64 - std::countr_zero(size);
}

size_t Merges::Table::place(uint64_t key) const {
  size_t at = size_t(key * 0x9E3779B97F4A7C15u >> shift_);
  while (slots_[at].value && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void Merges::Table::set(int32_t left, int32_t right, Merged value) {
  const uint64_t key = key_of(left, right);
  slots_[place(key)] = {key, value};
}

Merged Merges::Table::find(int32_t left, int32_t right) const {
  return slots_.empty() ? Merged() : slots_[place(key_of(left, right))].value;
}

Merges::Merges(std::span<const MergeRule> rules, std::span<const TokenEnds> ends) : has_ends_(!ends.empty()) {
  pairs_.reserve(rules.size());
  if (has_ends_) joins_.reserve(rules.size());
  for (const MergeRule& r : rules) {
    pairs_.set(r.left, r.right, {r.rank, r.token});
    ranks_ = std::max(ranks_, r.rank + 1);
    if (!has_ends_) continue;
    const int32_t left = ends[size_t(r.left)].last, right = ends[size_t(r.right)].first;
    if (left >= 0 && right >= 0) joins_.set(left, right, {0, 0});
  }
}

void BpeEncoder::add(std::span<const int32_t> symbols) {
  for (size_t begin = 0, end; begin < symbols.size(); begin = end) {
    end = begin + 1;
    while (end < symbols.size() && merges_.joins(symbols[end - 1], symbols[end])) ++end;
    add_word(symbols.subspan(begin, end - begin));
  }
}

void BpeEncoder::add_word(std::span<const int32_t> symbols) {
  if (symbols.size() == 1) return out_.push_back(symbols[0]);
  if (symbols.size() > short_word) return merge_long(symbols);
  if (const auto found = seen_.find(as_text(symbols)); found != seen_.end()) {
    const auto [begin, end] = found->second;
    for (size_t i = begin; i < end; ++i) out_.push_back(out_[i]);
    return;
  }
  const size_t begin = out_.size();
  merge_short(symbols);
  if (seen_.size() < most_seen) seen_.emplace(as_text(symbols), std::pair(begin, out_.size()));
}

void BpeEncoder::merge_short(std::span<const int32_t> symbols) {
  const size_t first = out_.size();
  out_.insert(out_.end(), symbols.begin(), symbols.end());
  next_.clear();  // next_[i]: what becomes of tokens i and i + 1
  for (size_t i = 0; i + 1 < symbols.size(); ++i) next_.push_back(merges_.find(symbols[i], symbols[i + 1]));
  while (true) {
    size_t best = next_.size();
    for (size_t i = 0; i < next_.size(); ++i)
      if (next_[i] && (best == next_.size() || next_[i].rank < next_[best].rank)) best = i;
    if (best == next_.size()) return;
    const auto token = out_.begin() + int64_t(first + best);
    *token = next_[best].token;
    out_.erase(token + 1);
    next_.erase(next_.begin() + int64_t(best));
    if (best > 0) next_[best - 1] = merges_.find(out_[first + best - 1], *token);
    if (best < next_.size()) next_[best] = merges_.find(*token, out_[first + best + 1]);
  }
}

namespace {

/// One token of a long word: a list, in which what was merged into its left neighbour merges no more.
struct Link {
  int32_t id, previous, next;
  Merged merged;  // with the next
};

/// What may be merged, the lowest rank first and then from left to right: a rank and a place in one number.
uint64_t candidate(int32_t rank, int32_t at) { return uint64_t(rank) << 32 | uint32_t(at); }

/// The candidates at the beginning, sorted: in a long word by counting ranks, which is faster.
std::vector<uint64_t> first_candidates(const std::vector<Link>& links, int32_t ranks) {
  std::vector<uint64_t> sorted;
  if (links.size() < size_t(ranks)) {
    for (size_t i = 0; i < links.size(); ++i)
      if (links[i].merged) sorted.push_back(candidate(links[i].merged.rank, int32_t(i)));
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  std::vector<uint32_t> place(size_t(ranks) + 1);
  for (const Link& link : links)
    if (link.merged) ++place[size_t(link.merged.rank) + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  sorted.resize(place.back());
  for (size_t i = 0; i < links.size(); ++i)
    if (const Merged m = links[i].merged) sorted[place[size_t(m.rank)]++] = candidate(m.rank, int32_t(i));
  return sorted;
}

}  // namespace

void BpeEncoder::merge_long(std::span<const int32_t> symbols) {
  const auto n = int32_t(symbols.size());
  std::vector<Link> links;
  links.reserve(symbols.size());
  for (int32_t i = 0; i < n; ++i) {
    const bool last = i + 1 == n;
    links.push_back({symbols[size_t(i)], i - 1, last ? -1 : i + 1,
                     last ? Merged() : merges_.find(symbols[size_t(i)], symbols[size_t(i) + 1])});
  }
  // Those of the beginning are taken in order; only the later ones need a heap.
  const std::vector<uint64_t> first = first_candidates(links, merges_.ranks());
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> later;
  const auto look = [&](int32_t at) {
    Link& link = links[size_t(at)];
    link.merged = link.next < 0 ? Merged() : merges_.find(link.id, links[size_t(link.next)].id);
    if (link.merged) later.push(candidate(link.merged.rank, at));
  };
  for (size_t next = 0; next < first.size() || !later.empty();) {
    const bool from_first = later.empty() || (next < first.size() && first[next] < later.top());
    const uint64_t c = from_first ? first[next++] : later.top();
    if (!from_first) later.pop();
    const auto at = int32_t(uint32_t(c));
    Link& left = links[size_t(at)];
    if (uint64_t(left.merged.rank) != c >> 32) continue;  // one of the two was merged otherwise
    Link& right = links[size_t(left.next)];
    left.id = left.merged.token;
    left.next = right.next;
    right.merged = Merged();
    if (left.next >= 0) links[size_t(left.next)].previous = at;
    if (left.previous >= 0) look(left.previous);
    look(at);
  }
  for (int32_t i = 0; i >= 0; i = links[size_t(i)].next) out_.push_back(links[size_t(i)].id);
}

}  // namespace rungs
