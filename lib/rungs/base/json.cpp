#include "rungs/base/json.hpp"

#include <fmt/format.h>

#include "rungs/base/error.hpp"

namespace rungs {

using nlohmann::json;

json parse_json(std::string_view text, const std::string& name,
                const std::function<void(int depth, const std::string& key)>& on_key) {
  constexpr int deepest = 32;
  const auto look = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > deepest) throw FileError(fmt::format("{}: is nested more than {} deep", name, deepest));
    if (on_key && event == json::parse_event_t::key) on_key(depth, parsed.get_ref<const std::string&>());
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
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

}  // namespace rungs
