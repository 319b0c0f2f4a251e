/// From logits to the next token.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "rungs/ops/sample_options.hpp"

namespace rungs {

/// \throws UsageError for a temperature below 0 or not finite, a top_k below 0, a top_p outside (0, 1].
void check(const SampleOptions& options);

/// "temperature 0.6, top-k 0, top-p 0.9"
std::string in_words(const SampleOptions& options);

/// The distribution that `options` make of `logits`: temperature, softmax, top-k, top-p (measured on what top-k left),
/// each time made to sum to one. Equal probabilities are ranked by id, the lower first. out, logits: (V). `order` is
/// scratch memory of the caller's. Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1.
/// \throws UsageError for options that check() refuses and for a logit that is not finite.
void probabilities(std::span<float> out, std::span<const float> logits, const SampleOptions& options,
                   std::vector<int32_t>& order);

/// The first token, in the order of ids, whose running sum exceeds the draw. \throws UsageError for a draw outside
/// [0, 1).
int32_t sample(std::span<const float> probabilities, double draw);

/// The next draw in [0, 1): the upper 53 bits, so that it is the same on every platform.
inline double draw(std::mt19937_64& random) { return double(random() >> 11) * 0x1p-53; }

/// Another way to draw: from logits, options and a number in [0, 1) to a token.
using Pick = std::function<int32_t(std::span<const float>, const SampleOptions&, double)>;

/// Draws tokens one after the other. Allocates nothing after the first.
class Sampler {
 public:
  Sampler(const SampleOptions& options, uint64_t seed, Pick pick = {})
      : options_(options), random_(seed), pick_(std::move(pick)) {
    check(options);
  }
  /// The number that chooses the next token; 0 where no draw could change it.
  double next_draw() { return pick_ || options_.temperature > 0 ? draw(random_) : 0; }
  int32_t sample(std::span<const float> logits, double draw);
  int32_t next(std::span<const float> logits) { return sample(logits, next_draw()); }

 private:
  SampleOptions options_;
  std::mt19937_64 random_;
  Pick pick_;
  std::vector<float> probabilities_;
  std::vector<int32_t> order_;
};

}  // namespace rungs
