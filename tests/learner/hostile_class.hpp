/// What a class may hand in: lesson 01 by those who want points without work, or harm. Each is a file of a few lines.
#pragma once

#include <string>
#include <vector>

namespace rungs::test {

/// One of them.
struct HostileFile {
  const char* name;
  std::string text;
  bool every_point;          ///< it is right beside what else it does
  const char* says;          ///< in the sentence on it; "": there is none
  bool needs_walls = false;  ///< without walls it would do harm here, or read what it must not
};

/// `before` stands before the solution, which ends the file.
std::vector<HostileFile> hostile_files(const std::string& solution);

}  // namespace rungs::test
