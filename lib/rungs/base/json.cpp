#include "rungs/base/json.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "rungs/base/error.hpp"

namespace rungs {

using nlohmann::json;

json parse_json(std::string_view text, const std::string& name, JsonKeys keys) {
  constexpr int deepest = 32;
  std::vector<std::set<std::string>> seen(deepest + 1);  // the keys of the objects that are open
  const auto look = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > deepest) throw FileError(fmt::format("{}: is nested more than {} deep", name, deepest));
    if (keys == JsonKeys::any) return true;
    if (event == json::parse_event_t::object_start && depth < deepest) seen[size_t(depth) + 1].clear();
    if (event == json::parse_event_t::key && !seen[size_t(depth)].insert(parsed.get_ref<const std::string&>()).second)
      throw FileError(fmt::format("{}: {}: wanted each key once, found it twice", name, brief(parsed)));
    return true;
  };
  try {
    return json::parse(text, look);
  } catch (const json::parse_error& e) {
    throw FileError(fmt::format("{}: is not JSON: byte {}", name, e.byte));
  } catch (const json::out_of_range&) {
    throw FileError(fmt::format("{}: is not JSON: a number is too large", name));
  }
}

std::string brief(const json& value) {
  constexpr size_t most = 60;
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

}  // namespace rungs
