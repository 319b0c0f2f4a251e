#include "rungs/batching/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/error.hpp"

namespace rungs {

static const BatchingOptions& checked(const BatchingOptions& o) {
  const auto at_least_one = [](const char* name, int64_t value) {
    if (value < 1) throw UsageError(fmt::format("{}: wanted at least 1, found {}", name, value));
  };
  at_least_one("blocks of the cache", o.blocks), at_least_one("tokens of a block", o.block_size);
  at_least_one("requests at once", o.max_running), at_least_one("context", o.context);
  if (o.max_rows < o.max_running)
    throw UsageError(fmt::format("tokens of a step: wanted one for each of {} requests at once, found {}",
                                 o.max_running, o.max_rows));
  return o;
}

Scheduler::Scheduler(const BatchingOptions& options) : options_(checked(options)), pool_(options.blocks) {
  for (int64_t slot = options.max_running; slot-- > 0;) free_slots_.push_back(slot);
}

int64_t Scheduler::submit(Request request) {
  const auto length = int64_t(request.prompt.size());
  if (length == 0) throw UsageError("the prompt has no tokens");
  if (request.max_tokens < 1)
    throw UsageError(fmt::format("max_tokens: wanted at least 1, found {}", request.max_tokens));
  if (length >= options_.context)
    throw UsageError(fmt::format("the prompt has {} tokens, which leaves no room for one more in the context of {}",
                                 length, options_.context));
  const int64_t holds = options_.blocks * options_.block_size;  // tokens
  if (request.max_tokens == as_many_as_fit)
    request.max_tokens = std::max<int64_t>(1, holds - length + 1);  // the last token that is drawn is never fed
  request.max_tokens = std::min(request.max_tokens, options_.context - length);
  if (length + request.max_tokens - 1 > holds)
    throw UsageError(
        fmt::format("a prompt of {} tokens and {} more never fit into the cache, which holds {}: ask for "
                    "fewer, or start the server with more --max-tokens-in-flight",
                    length, request.max_tokens, holds));
  std::vector<int32_t> tokens = request.prompt;
  Sampler sampler(request.sampling, request.seed);  // may throw
  const int64_t id = next_id_++;
  requests_.emplace(id, RequestState{id, std::move(request), std::move(tokens), std::move(sampler)});
  waiting_.insert(id);
  return id;
}

bool Scheduler::cancel(int64_t id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return false;
  release(found->second);
  waiting_.erase(id);
  requests_.erase(found);
  return true;
}

std::span<const int32_t> Scheduler::tokens_of_block(const RequestState& r, int64_t i) const {
  return std::span(r.tokens).subspan(size_t(i * options_.block_size), size_t(options_.block_size));
}

/// The next token goes into a block that others read.
bool Scheduler::must_copy(const RequestState& r) const {
  const auto block = size_t(r.computed / options_.block_size);
  return block < r.blocks.size() && pool_.holders(r.blocks[block]) > 1;
}

int64_t Scheduler::missing_blocks(const RequestState& r, int64_t count) const {
  return blocks_for(r.computed + count) - int64_t(r.blocks.size()) + must_copy(r);
}

/// Blocks for `count` more tokens; false where the request itself had to give way.
bool Scheduler::reserve(RequestState& r, int64_t count, Plan& plan) {
  while (missing_blocks(r, count) > pool_.free()) {
    RequestState& newest = requests_.at(*running_.rbegin());
    preempt(newest, plan);
    if (&newest == &r) return false;
  }
  const auto first = size_t(r.computed / options_.block_size);
  if (must_copy(r)) {
    const int32_t copy = pool_.take(1)[0];
    plan.copies.push_back({&r, copy, r.blocks[first]});
    pool_.give_back(r.blocks[first]);
    r.blocks[first] = copy;
    r.names.resize(std::min(r.names.size(), first));
  } else if (first < r.names.size()) {  // nobody else reads it, but somebody could find it
    pool_.withdraw(r.blocks[first]);
    r.names.resize(first);
  }
  if (const int64_t missing = missing_blocks(r, count); missing > 0) {
    const std::vector<int32_t> taken = pool_.take(missing);
    r.blocks.insert(r.blocks.end(), taken.begin(), taken.end());
  }
  return true;
}

void Scheduler::release(RequestState& r) {
  if (r.slot < 0) return;
  while (!r.blocks.empty()) {  // the last first: they are given up before those that more prompts begin with
    pool_.give_back(r.blocks.back());
    r.blocks.pop_back();
  }
  r.names.clear();
  r.computed = 0;
  free_slots_.push_back(r.slot);
  r.slot = -1;
  running_.erase(r.id);
}

void Scheduler::preempt(RequestState& r, Plan& plan) {
  std::erase_if(plan.pieces, [&](const Piece& piece) { return piece.request == &r; });
  std::erase_if(plan.copies, [&](const Plan::Copy& copy) { return copy.request == &r; });
  release(r);
  waiting_.insert(r.id);  // its id says that it came before those that wait
  ++r.preempted;
  ++preemptions_;
}

/// Takes the blocks that hold the beginning of its tokens. The last token is fed in any case: its logits are wanted.
void Scheduler::find_prefix(RequestState& r) {
  const auto whole = int64_t(r.tokens.size()) / options_.block_size;
  BlockPool::Prefix name = BlockPool::start;
  for (int64_t i = 0; i < whole && options_.prefix_caching; ++i) {
    const auto found = pool_.find(name, tokens_of_block(r, i));
    if (!found) break;
    r.blocks.push_back(found->first);
    r.names.push_back(name = found->second);
  }
  r.computed = std::min(int64_t(r.blocks.size()) * options_.block_size, int64_t(r.tokens.size()) - 1);
}

/// A slot, and the beginning that others have computed; false where there are too few blocks for all of its tokens.
bool Scheduler::admit(RequestState& r, int64_t rows) {
  if (rows == 0 || free_slots_.empty()) return false;
  r.slot = free_slots_.back();
  free_slots_.pop_back();
  find_prefix(r);
  if (missing_blocks(r, r.left()) > pool_.free()) {
    release(r);
    return false;
  }
  waiting_.erase(r.id);
  running_.insert(r.id);
  if (r.found < 0) {
    r.found = r.computed;
    prompt_tokens_ += int64_t(r.request.prompt.size());
    found_tokens_ += r.found;
  }
  return true;
}

Plan Scheduler::plan() {
  Plan plan;
  const auto rows = [&] {
    int64_t sum = 0;
    for (const Piece& piece : plan.pieces) sum += piece.count;
    return sum;
  };
  int64_t most = options_.max_rows;
  const auto feed = [&](RequestState& r) {
    const int64_t count = std::min(r.left(), most - rows());
    if (count == 0 || !reserve(r, count, plan)) return;
    plan.pieces.push_back({&r, r.computed, count, count == r.left()});
  };
  const int64_t preempted = preemptions_;
  const bool joins = options_.continuous || running_.empty();
  for (const bool decodes : {true, false}) {  // who decodes waits for one row only
    for (const int64_t id : std::vector(running_.begin(), running_.end()))
      if (RequestState& r = requests_.at(id); r.slot >= 0 && (r.left() == 1) == decodes) feed(r);
    if (decodes && rows() > 0 && options_.prompt_rows > 0) most = std::min(most, rows() + options_.prompt_rows);
  }
  while (joins && !waiting_.empty() && preemptions_ == preempted) {
    RequestState& r = requests_.at(*waiting_.begin());
    if (!admit(r, most - rows())) break;
    feed(r);
  }
  return plan;
}

void Scheduler::finish_step(const Plan& plan) {
  for (const Piece& piece : plan.pieces) {
    RequestState& r = *piece.request;
    r.computed += piece.count;
    if (!options_.prefix_caching) continue;
    for (auto i = int64_t(r.names.size()); (i + 1) * options_.block_size <= r.computed; ++i) {
      const BlockPool::Prefix before = i > 0 ? r.names.back() : BlockPool::start;
      r.names.push_back(pool_.publish(r.blocks[size_t(i)], before, tokens_of_block(r, i)));
    }
  }
}

void Scheduler::abandon_step(const Plan& plan) {
  for (const Plan::Copy& copy : plan.copies) {  // nobody knows whether its block was copied
    release(*copy.request);
    waiting_.insert(copy.request->id);
  }
  for (const Piece& piece : plan.pieces) {
    RequestState& r = *piece.request;
    if (r.computed == 0) {
      release(r);
      waiting_.insert(r.id);
    }
    while (int64_t(r.blocks.size()) > blocks_for(r.computed)) {
      pool_.give_back(r.blocks.back());
      r.blocks.pop_back();
    }
  }
}

Finish Scheduler::append(int64_t id, int32_t token) {
  RequestState& r = requests_.at(id);
  r.tokens.push_back(token);
  const auto& stop = r.request.stop;
  const bool stops = std::find(stop.begin(), stop.end(), token) != stop.end();
  if (!stops && r.drawn() < r.request.max_tokens) return Finish::no;
  release(r);
  requests_.erase(id);
  return stops ? Finish::stop : Finish::length;
}

}  // namespace rungs
