/// Completion of the command line by a shell.
#pragma once

#include <string>
#include <vector>

namespace rungs {

/// What a shell, "bash" or "zsh", reads; it asks `rungs completion words -- WORDS...` for what may follow these words.
/// \throws UsageError for another shell
std::string completion_script(const std::string& shell);

/// "01", "02", ...
std::vector<std::string> lesson_numbers();

}  // namespace rungs
