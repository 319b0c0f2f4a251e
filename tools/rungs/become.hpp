/// One command line, several programs: which one runs it depends on what it asks for.
#pragma once

#include <string>

namespace rungs {

/// Builds `program`, which stands beside this one, where its sources are here and have changed, and runs it in place of
/// this program with the same command line. \throws UsageError where this build has no such program.
[[noreturn]] void become(const std::string& program, char** argv);

}  // namespace rungs
