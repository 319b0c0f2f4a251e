#include "rungs/base/fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/file.hpp"

namespace rungs {

using nlohmann::json;

Fields::Fields(const json& object, std::string file, std::string prefix)
    : object_(object), file_(std::move(file)), prefix_(std::move(prefix)) {
  if (object.is_object()) return;
  const std::string where = prefix_.empty() ? "" : prefix_.substr(0, prefix_.size() - 1) + ": ";
  throw FileError(fmt::format("{}: {}wanted an object, found {}", file_, where, object.type_name()));
}

bool Fields::has(const char* name) const {
  const auto it = object_.find(name);
  return it != object_.end() && !it->is_null();
}

const json& Fields::at(const char* name) const {
  const auto it = object_.find(name);
  if (it == object_.end()) throw FileError(fmt::format("{}: {}{}: wanted a value, found none", file_, prefix_, name));
  return *it;
}

void Fields::fail(const char* name, const std::string& wanted) const {
  const auto it = object_.find(name);
  throw FileError(fmt::format("{}: {}{}: wanted {}, found {}", file_, prefix_, name, wanted,
                              it == object_.end() ? "none" : brief(*it)));
}

static bool is_whole(const json& value, int64_t least, int64_t most) {
  return value.is_number_integer() && value >= least && value <= most;
}

int64_t Fields::whole(const char* name, int64_t least, int64_t most) const {
  if (!is_whole(at(name), least, most)) fail(name, fmt::format("a whole number from {} to {}", least, most));
  return at(name).get<int64_t>();
}

double Fields::number(const char* name, double above, double below) const {
  const json& value = at(name);
  if (!value.is_number() || !(value.get<double>() > above) || !(value.get<double>() < below))
    fail(name, fmt::format("a number between {} and {}", above, below));
  return value.get<double>();
}

bool Fields::truth(const char* name, bool otherwise) const {
  if (!has(name)) return otherwise;
  if (!at(name).is_boolean()) fail(name, "true or false");
  return at(name).get<bool>();
}

std::string Fields::text(const char* name) const {
  if (!has(name) || !at(name).is_string()) fail(name, "a string");
  return at(name).get<std::string>();
}

const json& Fields::list(const char* name) const {
  if (!has(name) || !at(name).is_array()) fail(name, "a list");
  return at(name);
}

std::string Fields::one_of(const char* name, const std::vector<std::string>& known) const {
  const json& value = at(name);
  if (value.is_string() && std::find(known.begin(), known.end(), value.get<std::string>()) != known.end())
    return value.get<std::string>();
  std::string list;
  for (size_t i = 0; i < known.size(); ++i)
    list += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == known.size() ? " or " : ", ", known[i]);
  fail(name, list);
}

std::vector<int32_t> Fields::whole_list(const char* name, int64_t least, int64_t most) const {
  if (!has(name)) return {};
  const json& value = at(name);
  if (!value.is_array()) return {int32_t(whole(name, least, most))};
  std::vector<int32_t> list;
  for (const json& each : value) {
    if (!is_whole(each, least, most)) fail(name, fmt::format("whole numbers from {} to {}", least, most));
    list.push_back(each.get<int32_t>());
  }
  return list;
}

Fields Fields::inner(const char* name) const { return {at(name), file_, prefix_ + name + "."}; }

FileError unknown_type(const std::string& where, const std::string& type, const std::string& known) {
  return FileError(fmt::format("{}: {} is not known; known are {}", where, type, known));
}

json read_json_object(const std::filesystem::path& path) {
  json object = parse_json(read_text(path), path.string(), JsonKeys::once);
  const Fields checked(object, path.string());
  return object;
}

}  // namespace rungs
