/// What generation_config.json says: how the makers of a model want text to be drawn from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "rungs/ops/sample_options.hpp"

namespace rungs {

/// SampleOptions of which some may be left to others.
struct SamplingWishes {
  std::optional<double> temperature = {}, top_p = {};
  std::optional<int64_t> top_k = {};
};

/// What is absent in the file is absent here.
struct GenerationConfig : SamplingWishes {
  std::vector<int32_t> eos = {};  ///< eos_token_id: a text ends with any of these
  bool sample = false;            ///< do_sample: without it the rest is not used
};

/// Reads DIR/generation_config.json of a model of `vocabulary` tokens; all absent where there is no such file.
/// \throws FileError
GenerationConfig load_generation_config(const std::filesystem::path& directory, int64_t vocabulary);

/// Each value as it was asked for, else as the model's makers have it where they sample, else as usual.
SampleOptions sample_options(const SamplingWishes& asked, const GenerationConfig& model, const SampleOptions& usual);

}  // namespace rungs
