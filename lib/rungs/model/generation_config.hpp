/// What generation_config.json says: how the makers of a model want text to be drawn from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace rungs {

/// What is absent in the file is absent here.
struct GenerationConfig {
  std::vector<int32_t> eos;  ///< eos_token_id: a text ends with any of these
  std::optional<double> temperature, top_p;
  std::optional<int64_t> top_k;
  bool sample = false;  ///< do_sample
};

/// Reads DIR/generation_config.json of a model of `vocabulary` tokens; all absent where there is no such file.
/// \throws FileError
GenerationConfig load_generation_config(const std::filesystem::path& directory, int64_t vocabulary);

}  // namespace rungs
