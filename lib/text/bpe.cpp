#include "text/bpe.hpp"

#include <algorithm>
#include <bit>
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
  while (slots_[at].value >= 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void Merges::Table::set(int32_t left, int32_t right, int32_t value) {
  const uint64_t key = key_of(left, right);
  slots_[place(key)] = {key, value};
}

int32_t Merges::Table::find(int32_t left, int32_t right) const {
  return slots_.empty() ? -1 : slots_[place(key_of(left, right))].value;
}

Merges::Merges(std::span<const MergeRule> rules, std::span<const TokenEnds> ends)
    : rules_(rules.begin(), rules.end()), has_ends_(!ends.empty()) {
  pairs_.reserve(rules.size());
  if (has_ends_) joins_.reserve(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    const MergeRule& r = rules[i];
    pairs_.set(r.left, r.right, int32_t(i));
    if (!has_ends_) continue;
    const int32_t left = ends[size_t(r.left)].last, right = ends[size_t(r.right)].first;
    if (left >= 0 && right >= 0) joins_.set(left, right, 1);
  }
}

const MergeRule* Merges::find(int32_t left, int32_t right) const {
  const int32_t rule = pairs_.find(left, right);
  return rule < 0 ? nullptr : &rules_[size_t(rule)];
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
  next_.clear();  // next_[i]: the rule for tokens i and i + 1
  for (size_t i = 0; i + 1 < symbols.size(); ++i) next_.push_back(merges_.find(symbols[i], symbols[i + 1]));
  while (true) {
    size_t best = next_.size();
    for (size_t i = 0; i < next_.size(); ++i)
      if (next_[i] && (best == next_.size() || next_[i]->rank < next_[best]->rank)) best = i;
    if (best == next_.size()) return;
    const auto token = out_.begin() + int64_t(first + best);
    *token = next_[best]->token;
    out_.erase(token + 1);
    next_.erase(next_.begin() + int64_t(best));
    if (best > 0) next_[best - 1] = merges_.find(out_[first + best - 1], *token);
    if (best < next_.size()) next_[best] = merges_.find(*token, out_[first + best + 1]);
  }
}

void BpeEncoder::merge_long(std::span<const int32_t> symbols) {
  struct Token {
    int32_t id, previous, next;  // a list: what was merged into its left neighbour has id -1
  };
  struct Candidate {
    int32_t rank, at, left, right;
    bool operator>(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
  };
  const auto n = int32_t(symbols.size());
  std::vector<Token> tokens;
  tokens.reserve(symbols.size());
  for (int32_t i = 0; i < n; ++i) tokens.push_back({symbols[size_t(i)], i - 1, i + 1 < n ? i + 1 : -1});

  std::vector<Candidate> first;
  const auto candidate = [&](int32_t at, auto&& put) {
    if (at < 0 || tokens[size_t(at)].next < 0) return;
    const int32_t left = tokens[size_t(at)].id, right = tokens[size_t(tokens[size_t(at)].next)].id;
    if (const MergeRule* rule = merges_.find(left, right)) put(Candidate{rule->rank, at, left, right});
  };
  for (int32_t i = 0; i < n; ++i) candidate(i, [&](const Candidate& c) { first.push_back(c); });
  std::priority_queue queue(std::greater<Candidate>(), std::move(first));
  const auto push = [&](const Candidate& c) { queue.push(c); };
  while (!queue.empty()) {
    const Candidate c = queue.top();
    queue.pop();
    Token& left = tokens[size_t(c.at)];
    if (left.id != c.left || left.next < 0 || tokens[size_t(left.next)].id != c.right) continue;  // merged otherwise
    Token& right = tokens[size_t(left.next)];
    left.id = merges_.find(c.left, c.right)->token;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) tokens[size_t(left.next)].previous = c.at;
    candidate(left.previous, push);
    candidate(c.at, push);
  }
  for (int32_t i = 0; i >= 0; i = tokens[size_t(i)].next) out_.push_back(tokens[size_t(i)].id);
}

}  // namespace rungs
