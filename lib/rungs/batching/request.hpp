/// What the batching engine is asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "rungs/ops/sample_options.hpp"

namespace rungs {

/// For Request::max_tokens: until the context ends, or what the cache can hold.
inline constexpr int64_t as_many_as_fit = INT64_MAX;

/// One text to continue.
struct Request {
  std::vector<int32_t> prompt;  ///< ids, BOS among them
  SampleOptions sampling = {};
  uint64_t seed = 0;               ///< of its own draws: who else is served changes nothing
  int64_t max_tokens = 100;        ///< it ends after this many, or where the context ends
  std::vector<int32_t> stop = {};  ///< or with one of these tokens
};

/// How requests share the steps, and how much memory they have.
struct BatchingOptions {
  int64_t blocks = 0;          ///< of the KV cache, for all requests together
  int64_t block_size = 16;     ///< tokens of a block
  int64_t max_running = 64;    ///< requests that are served at once; the others wait
  int64_t max_rows = 256;      ///< tokens that one step feeds: a longer prompt is fed in chunks, beside the others
  int64_t prompt_rows = 0;     ///< of prompts, in a step in which others wait for their next token; 0: what is left
  int64_t context = 0;         ///< most tokens of a text, the prompt among them
  bool prefix_caching = true;  ///< what several prompts begin with is computed once
  bool continuous = true;      ///< false: nobody joins until the whole batch has ended
};

/// Why a text ended.
enum class Finish {
  no,      ///< it goes on
  stop,    ///< with one of its stop tokens
  length,  ///< with max_tokens tokens, or the context is full
};

}  // namespace rungs
