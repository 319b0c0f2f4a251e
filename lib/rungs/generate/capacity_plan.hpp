/// What a model should be loaded for, to continue some prompts.
#pragma once

#include <cstdint>
#include <span>

#include "rungs/generate/generate.hpp"

namespace rungs {

/// For generate() with these options and prompts of these lengths. With the cache a long prompt is fed in pieces;
/// without it whole sequences are fed, and several of them share a call as long as it does not become too large.
/// `context`: most tokens of a sequence.
LoadOptions plan_load(std::span<const int64_t> lengths, const GenerateOptions& options, int64_t context);

}  // namespace rungs
