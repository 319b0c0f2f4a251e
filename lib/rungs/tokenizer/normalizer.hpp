/// The "normalizer" of a tokenizer.json: how a text is changed before it is cut and merged.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace rungs {

/// Text in, text out.
using Normalizer = std::function<std::string(std::string)>;

/// Finds the places that a "pattern" of a tokenizer.json means: {"String": ...} or {"Regex": ...}.
using Matcher = std::function<void(std::string_view, const std::function<void(size_t begin, size_t end)>&)>;

/// \throws FileError; `where` begins its sentence.
Matcher read_pattern(const nlohmann::json& pattern, const std::string& where);

/// \throws FileError naming what is unknown, and all that is known.
Normalizer read_normalizer(const nlohmann::json& description, const std::string& where);

}  // namespace rungs
