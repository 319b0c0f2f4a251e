/// "Did you mean".
#pragma once

#include <span>
#include <string>

namespace rungs {

/// The candidate that takes the fewest edits (a letter put in, left out, changed, or swapped with its neighbour) to
/// become `word`, or that `word` begins; "" when none is near.
std::string closest(const std::string& word, std::span<const std::string> candidates);

/// "; did you mean X?", or "" when none is near.
std::string did_you_mean(const std::string& word, std::span<const std::string> candidates);

}  // namespace rungs
