/// Speculative decoding: a cheap draft guesses the next tokens, and the model checks all of them in one call. What
/// comes out has exactly the distribution that the model alone would have. Leviathan and others 2023, "Fast Inference
/// from Transformers via Speculative Decoding".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rungs/generate/generate.hpp"
#include "rungs/model/model.hpp"

namespace rungs {

/// What became of k drafted tokens.
struct Verdict {
  int64_t accepted;  ///< the first so many are kept
  int32_t next;      ///< the token after them
};

/// Algorithm 1: drafted token i, drawn from row i of q, is kept with the probability min(1, p/q). The first that is not
/// is replaced by a draw from max(p - q, 0), made to sum to one; where all k are kept, the last row of p gives one
/// more. p: (k + 1, V), q: (k, V), rows that sum to one; `draw` gives numbers in [0, 1).
Verdict verify_draft(std::span<const float> p, std::span<const float> q, std::span<const int32_t> drafted,
                     const std::function<double()>& draw);

/// The tokens that followed the last n tokens where they stood before: n = `longest`, else fewer, the latest place
/// first. At most k, none where nothing repeats. A draft without a model: good for texts that quote their prompt.
std::vector<int32_t> look_up(std::span<const int32_t> tokens, int64_t k, int64_t longest = 3);

/// Who drafts, and how far ahead.
struct DraftOptions {
  Model* model = nullptr;  ///< none: look_up drafts
  int64_t tokens = 4;      ///< most that are drafted at a time
};

/// What drafting was worth.
struct DraftReport {
  int64_t drafted = 0, accepted = 0;
  int64_t calls = 0;  ///< of the model; without a draft there is one for each token
};

/// generate() of one prompt. At temperature 0 the tokens are those of generate(), but where two logits are so near that
/// the order of a sum decides; else their distribution is, and the draws are others. `on_step` sees each token;
/// Step::number counts the calls; options.cache and options.pick are not looked at. \throws UsageError as generate(),
/// and for a draft with another vocabulary or draft.tokens below 1 or not below the model's max_rows; Error when a
/// logit is not finite.
std::vector<int32_t> generate_drafted(Model& model, const std::vector<int32_t>& prompt, const GenerateOptions& options,
                                      const DraftOptions& draft, DraftReport& report,
                                      const std::function<void(const Step&)>& on_step = {});

}  // namespace rungs
