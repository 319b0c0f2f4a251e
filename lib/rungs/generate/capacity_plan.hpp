/// What a model should be loaded for, to continue some prompts.
#pragma once

#include <cstdint>
#include <span>

#include "rungs/generate/generate.hpp"

namespace rungs {

/// For generate() with these options and prompts of these lengths. With the cache a long prompt is fed in pieces;
/// without it whole sequences are fed, and several of them share a call as long as it does not become too large.
/// `context`: most tokens of a sequence. Where the options leave it open, the model is loaded for the longest sequence
/// alone: tables of rotary positions for a context of ten million tokens would be larger than many models.
LoadOptions plan_load(std::span<const int64_t> lengths, const GenerateOptions& options, int64_t context);

}  // namespace rungs
