/// JSON files that come from outside.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rungs {

/// Parses the JSON of a file; `name` stands in the errors. `on_key` is told every key with the depth of its object, 1
/// for the outermost. \throws FileError when it is not JSON, a number does not fit, or it is nested without end, which
/// would exhaust the stack later.
nlohmann::json parse_json(std::string_view text, const std::string& name,
                          const std::function<void(int depth, const std::string& key)>& on_key = {});

/// A value for an error message: its JSON, cut where it is long.
std::string brief(const nlohmann::json& value);

}  // namespace rungs
