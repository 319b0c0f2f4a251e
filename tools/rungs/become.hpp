/// One command line, several programs: which one runs it depends on what it asks for.
#pragma once

#include <string>

namespace rungs {

/// \throws UsageError where there is no nvcc, and the program needs one.
void require_program(const std::string& program);

/// Builds `program`, which stands beside this one, where its sources are here and have changed, and runs it in place of
/// this program with the same command line. \throws UsageError as require_program.
[[noreturn]] void become(const std::string& program, char** argv);

}  // namespace rungs
