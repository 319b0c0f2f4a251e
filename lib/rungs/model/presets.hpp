/// The shapes of published LLaMAs, by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rungs/model/config.hpp"

namespace rungs {

/// A published model's shape; capitals do not count: "Llama-3-8B", "Llama-3.2-1B", "TinyLlama", "stories15M"; also "8b"
/// and "1b" for the first two. Its directory is the name as it is usually written. Nothing for an unknown name. Source:
/// the config.json that each was published with; llama2.c's README for stories.
std::optional<Config> preset(std::string_view name);

/// All names, as they are usually written.
std::vector<std::string> shape_names();

}  // namespace rungs
