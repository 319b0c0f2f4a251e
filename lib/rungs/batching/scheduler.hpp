/// Which tokens of which requests the next step feeds, and in which blocks of the cache they go. No model is needed.
#pragma once

#include <map>
#include <set>

#include "rungs/batching/block_pool.hpp"
#include "rungs/batching/request.hpp"
#include "rungs/generate/sampler.hpp"

namespace rungs {

/// A request on its way.
struct RequestState {
  int64_t id;  ///< in the order of arrival
  Request request;
  std::vector<int32_t> tokens;  ///< the prompt, and what was drawn
  Sampler sampler;
  int64_t computed = 0;                       ///< tokens whose keys and values are in the cache
  int64_t slot = -1;                          ///< sequence number in the cache; -1: it waits
  std::vector<int32_t> blocks = {};           ///< the block table
  std::vector<BlockPool::Prefix> names = {};  ///< of its first blocks, which others may find
  int64_t found = -1;     ///< tokens of the prompt that others had computed when it began; -1: it has not begun
  int64_t preempted = 0;  ///< how often its blocks were taken away

  int64_t left() const { return int64_t(tokens.size()) - computed; }
  int64_t drawn() const { return int64_t(tokens.size() - request.prompt.size()); }
};

/// Tokens [start, start + count) of one request.
struct Piece {
  RequestState* request;
  int64_t start, count;
  bool draws;  ///< the last token that there is: the next one is drawn from its logits
};

/// A step: first the copies, then one call of the model with all pieces.
struct Plan {
  /// Block `to` becomes a copy of block `from`, because its holder is about to write it.
  struct Copy {
    RequestState* request;
    int32_t to, from;
  };
  std::vector<Copy> copies;
  std::vector<Piece> pieces;
};

/// Requests come in order. Those that run have a slot and blocks; a step feeds one token of each that decodes, and
/// chunks of prompts with the rows that are left. Where blocks run out, the newest request gives back its own, waits,
/// and is computed again later. (Yu and others 2022, "Orca"; Kwon and others 2023, "PagedAttention".)
class Scheduler {
 public:
  /// \throws UsageError for options out of range
  explicit Scheduler(const BatchingOptions& options);

  /// Returns its id. \throws UsageError for a prompt without tokens or one that can never fit, for max_tokens below 1
  /// or, unless as_many_as_fit, more than the cache can hold.
  int64_t submit(Request request);
  /// Its blocks are free at once. False where there is no such request any more.
  bool cancel(int64_t id);

  /// What the next step does; no pieces where nobody runs or waits. Until finish_step() or abandon_step() nothing else
  /// may be called.
  Plan plan();
  /// The model has run: keys and values of the pieces are in the cache.
  void finish_step(const Plan& plan);
  /// The model has not run to its end: blocks that were taken for this step are given back.
  void abandon_step(const Plan& plan);
  /// Appends a token. A request that ends with it is gone then.
  Finish append(int64_t id, int32_t token);

  const BatchingOptions& options() const { return options_; }
  const BlockPool& pool() const { return pool_; }
  const std::map<int64_t, RequestState>& requests() const { return requests_; }
  const std::set<int64_t>& running() const { return running_; }
  const std::set<int64_t>& waiting() const { return waiting_; }
  int64_t preemptions() const { return preemptions_; }
  /// Prompt tokens of the requests that began, and those of them that were found in the cache.
  int64_t prompt_tokens() const { return prompt_tokens_; }
  int64_t found_tokens() const { return found_tokens_; }

 private:
  int64_t blocks_for(int64_t tokens) const { return (tokens + options_.block_size - 1) / options_.block_size; }
  std::span<const int32_t> tokens_of_block(const RequestState& r, int64_t i) const;
  bool must_copy(const RequestState& r) const;
  int64_t missing_blocks(const RequestState& r, int64_t count) const;
  bool reserve(RequestState& r, int64_t count, Plan& plan);
  void find_prefix(RequestState& r);
  bool admit(RequestState& r, int64_t rows);
  void release(RequestState& r);
  void preempt(RequestState& r, Plan& plan);

  BatchingOptions options_;
  BlockPool pool_;
  std::map<int64_t, RequestState> requests_;
  std::set<int64_t> running_, waiting_;  // ids
  std::vector<int64_t> free_slots_;
  int64_t next_id_ = 0, preemptions_ = 0, prompt_tokens_ = 0, found_tokens_ = 0;
};

}  // namespace rungs
