/// The fields of a JSON object that comes from outside, each checked as it is read.
#pragma once

#include <filesystem>
#include <vector>

#include "rungs/base/error.hpp"
#include "rungs/base/json.hpp"

namespace rungs {

/// Reads fields of one object. Every error names the file, the field, what was wanted and what was found. A field that
/// is null counts as absent wherever an absent one is allowed.
class Fields {
 public:
  /// `object` must live longer. `file` and `prefix` ("rope_scaling.") stand in the errors. \throws FileError when it is
  /// not an object.
  Fields(const nlohmann::json& object, std::string file, std::string prefix = "");

  bool has(const char* name) const;
  /// \throws FileError when it is absent.
  const nlohmann::json& at(const char* name) const;
  /// A whole number in [least, most]. \throws FileError
  int64_t whole(const char* name, int64_t least, int64_t most) const;
  /// A number between two others, neither of them included. \throws FileError
  double number(const char* name, double above, double below) const;
  /// \throws FileError when it is there and not a boolean.
  bool truth(const char* name, bool otherwise) const;
  /// \throws FileError when it is absent or not a string.
  std::string text(const char* name) const;
  /// \throws FileError when it is absent or not a list.
  const nlohmann::json& list(const char* name) const;
  /// One of these texts. \throws FileError that lists them.
  std::string one_of(const char* name, const std::vector<std::string>& known) const;
  /// A whole number or a list of them, each in [least, most]; none when absent. \throws FileError
  std::vector<int32_t> whole_list(const char* name, int64_t least, int64_t most) const;
  /// The fields of an object within this one. \throws FileError
  Fields inner(const char* name) const;
  /// \throws FileError: "FILE: NAME: wanted WHAT, found VALUE"
  [[noreturn]] void fail(const char* name, const std::string& wanted) const;

 private:
  const nlohmann::json& object_;
  std::string file_, prefix_;
};

/// The error that names a kind of thing, and those that are known.
FileError unknown_type(const std::string& where, const std::string& type, const std::string& known);

/// Parses a file that must hold a JSON object. \throws FileError
nlohmann::json read_json_object(const std::filesystem::path& path);

}  // namespace rungs
