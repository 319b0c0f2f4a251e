/// What a compiler and a linker said, as a learner needs it.
#pragma once

#include <filesystem>
#include <string>

namespace rungs {

/// Without the build tool's own lines, cut off after `most` lines with how many follow.
std::string compiler_output(const std::string& output, size_t most = 60);

/// The first of the warnings that a file which compiles has; "": it has none.
std::string warnings(const std::string& output);

/// The functions that a linker did not find, a line each.
std::string missing_functions(const std::string& output);

/// The first error in `file`, with the line that it is about, named as `called`; where there is none in this file, the
/// first error. Long sentences are cut. It ends with how many errors there are when there is more than one.
std::string first_error(const std::string& output, const std::filesystem::path& file, const std::string& called);

}  // namespace rungs
