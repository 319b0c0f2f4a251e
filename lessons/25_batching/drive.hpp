/// Requests that arrive, are fed step by step, and leave: what the cases and the program of lesson 25 do with a plan.
#pragma once

#include "lesson.hpp"

namespace lesson_25 {

/// One request of a trace: the step at which it arrives, and its tokens in and out.
struct Arrival {
  int64_t step, prompt, answer;
};

/// Runs a trace to its end, at most `limit` steps. make_plan, give_back: a lesson's plan and release.
/// see(step, pieces, requests, blocks) is called after each plan.
template <class MakePlan, class GiveBack, class See>
void drive(const std::vector<Arrival>& trace, Blocks& blocks, int64_t block_size, int64_t budget, int64_t limit,
           const MakePlan& make_plan, const GiveBack& give_back, const See& see) {
  std::vector<Request> requests;
  size_t next = 0;
  for (int64_t step = 0; step < limit && (next < trace.size() || !requests.empty()); ++step) {
    for (; next < trace.size() && trace[next].step <= step; ++next)
      requests.push_back({int64_t(next), trace[next].prompt});
    const std::vector<Piece> pieces = make_plan(requests, blocks, block_size, budget);
    see(step, pieces, requests, blocks);
    for (const Piece& piece : pieces) {
      Request& r = requests.at(size_t(piece.request));
      r.computed += piece.count;
      if (r.computed == r.tokens) ++r.tokens;  // a token is drawn from the last row's logits
    }
    std::erase_if(requests, [&](Request& r) {
      const Arrival& a = trace[size_t(r.id)];
      if (r.tokens - a.prompt < a.answer) return false;
      give_back(blocks, r.table);
      return true;
    });
  }
}

/// plan, with prefix caching: first every request that holds nothing takes the blocks that others have computed of its
/// beginning. texts: the tokens of each request, by its id. hashes, share: a lesson's block_hashes and share_prefix.
template <class MakePlan, class Hashes, class Share>
std::vector<Piece> plan_sharing(std::vector<Request>& requests, Blocks& blocks, int64_t block_size, int64_t budget,
                                const std::vector<std::vector<int32_t>>& texts, const MakePlan& make_plan,
                                const Hashes& hashes, const Share& share) {
  const auto tokens_of = [&](const Request& r) {
    const std::vector<int32_t>& text = texts.at(size_t(r.id));
    return std::vector(text.begin(), text.begin() + r.tokens);
  };
  Index index;
  for (const Request& r : requests) {
    const std::vector<uint32_t> of_blocks = hashes(tokens_of(r), block_size);
    for (int64_t i = 0; i < r.computed / block_size; ++i) index.emplace(of_blocks.at(size_t(i)), r.table.at(size_t(i)));
  }
  for (Request& r : requests)
    if (r.table.empty()) r.computed = share(blocks, r.table, tokens_of(r), index, block_size);
  return make_plan(requests, blocks, block_size, budget);
}

}  // namespace lesson_25
