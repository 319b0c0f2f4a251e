/// The loop that turns logits into text: feed tokens, draw the next one of every sequence, until all have ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rungs/generate/sampler.hpp"
#include "rungs/model/model.hpp"

namespace rungs {

/// How a text is continued, and when it ends.
struct GenerateOptions {
  SampleOptions sampling = {};
  uint64_t seed = 0;               ///< sequence i draws with seed + i, so that each can be repeated alone
  int64_t max_tokens = 100;        ///< a sequence ends after this many, or where the context ends
  std::vector<int32_t> stop = {};  ///< or with one of these tokens, which is kept
  bool cache = true;               ///< false: every step feeds the whole of every sequence again
  DType cache_dtype = DType::f32;  ///< see KvCache
  int64_t context = 0;             ///< most tokens of a sequence, the prompt among them; 0: the model's context
  Pick pick = {};                  ///< draws instead of probabilities() and sample(), when there is one

  /// A sequence ends with this token.
  bool ends(int32_t token) const { return std::find(stop.begin(), stop.end(), token) != stop.end(); }
};

/// What one step did with one sequence.
struct Step {
  int64_t sequence;                 ///< which of the prompts
  int64_t number;                   ///< of the step, from 0
  int64_t past;                     ///< tokens of the sequence that were in the cache before
  int64_t position;                 ///< of the token that was drawn
  std::span<const int32_t> tokens;  ///< fed by this step: those of positions [past, position)
  int32_t token;                    ///< that was drawn
};

/// \throws UsageError for a prompt without tokens or one that leaves no room in the context, and for a max_tokens below
/// 1.
void check_prompts(const std::vector<std::vector<int32_t>>& prompts, const GenerateOptions& options, int64_t context);

/// Continues every prompt; all unfinished sequences share the calls of the model, whatever their lengths (one call a
/// step, more only where their rows exceed Model::max_rows). Returns the tokens drawn for each prompt and calls
/// `on_step` as each is drawn. With the cache and one prompt nothing is allocated after the first step.
/// \throws UsageError as check_prompts does; Error when a logit is not finite.
std::vector<std::vector<int32_t>> generate(Model& model, const std::vector<std::vector<int32_t>>& prompts,
                                           const GenerateOptions& options,
                                           const std::function<void(const Step&)>& on_step = {});

}  // namespace rungs
