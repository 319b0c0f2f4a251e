/// Fields of a tokenizer.json, with errors that say where they are.
#pragma once

#include <fmt/format.h>

#include <string>

#include "rungs/base/error.hpp"
#include "rungs/base/json.hpp"

namespace rungs {

/// The field `key` of an object; null where there is none. \throws FileError when it is not a string.
inline std::string string_of(const nlohmann::json& object, const char* key, const std::string& where) {
  const nlohmann::json value = object.value(key, nlohmann::json());
  if (!value.is_string()) throw FileError(fmt::format("{}: {}: wanted a string, found {}", where, key, brief(value)));
  return value.get<std::string>();
}

/// \throws FileError when it is no list.
inline nlohmann::json list_of(const nlohmann::json& object, const char* key, const std::string& where) {
  nlohmann::json value = object.value(key, nlohmann::json());
  if (!value.is_array()) throw FileError(fmt::format("{}: {}: wanted a list, found {}", where, key, brief(value)));
  return value;
}

/// \throws FileError when it is there and neither true nor false.
inline bool flag_of(const nlohmann::json& object, const char* key, bool otherwise, const std::string& where) {
  const nlohmann::json value = object.value(key, nlohmann::json());
  if (value.is_null()) return otherwise;
  if (!value.is_boolean())
    throw FileError(fmt::format("{}: {}: wanted true or false, found {}", where, key, brief(value)));
  return value.get<bool>();
}

/// The "type" of a part. \throws FileError when the part is no object, or has none.
inline std::string type_of(const nlohmann::json& part, const std::string& where) {
  if (!part.is_object()) throw FileError(fmt::format("{}: wanted an object, found {}", where, brief(part)));
  return string_of(part, "type", where);
}

/// The error that names a part's type and those that are known.
inline FileError unknown_type(const std::string& where, const std::string& type, const std::string& known) {
  return FileError(fmt::format("{}: {} is not known; known are {}", where, type, known));
}

}  // namespace rungs
