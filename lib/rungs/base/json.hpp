/// JSON files that come from outside.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rungs {

/// Whether an object may hold a key twice; JSON lets it, and the last one counts.
enum class JsonKeys { any, once };

/// Parses the JSON of a file; `name` stands in the errors. \throws FileError when it is not JSON, a number does not
/// fit, a key stands twice that may not, or it is nested without end, which would exhaust the stack later.
nlohmann::json parse_json(std::string_view text, const std::string& name, JsonKeys keys = JsonKeys::any);

/// JSON for a script to read, over several lines. Bytes that are no UTF-8, as a path may have, become U+FFFD.
template <class Json>
std::string pretty(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace);
}

/// The same on one line.
template <class Json>
std::string on_one_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A value for an error message: its JSON, cut where it is long.
std::string brief(const nlohmann::json& value);

}  // namespace rungs
