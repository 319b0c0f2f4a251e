/// Commands for a shell.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rungs {

/// A text as one word of a command, whatever is in it.
std::string shell_word(const std::string& text);

/// The words of a command, as a shell finds them: quotes and backslashes are taken off. Nothing is expanded, and `&&`
/// is a word like others.
std::vector<std::string> shell_words(std::string_view command);

/// What waitpid, pclose or std::system gave, as a shell says it: the exit status, or 128 and the number of the signal.
int exit_status(int waited);

/// A command that has ended.
struct Ran {
  int status;  ///< as exit_status says it
  std::string output;
};

/// Runs a command and gives what it printed; `hear` is told each line as soon as it comes. \throws Error where no shell
/// can be started
Ran run_command(const std::string& command, const std::function<void(const std::string& line)>& hear = {});

}  // namespace rungs
