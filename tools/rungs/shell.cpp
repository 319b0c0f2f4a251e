#include "shell.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>

namespace rungs {

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string within_time(const std::string& command, int seconds) {
  return fmt::format("timeout --foreground {} {}", seconds, command);  // so that Ctrl-C reaches the command
}

int run_within_time(const std::string& command, int seconds) {
  const int ended = std::system(within_time(command, seconds).c_str());
  const int status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
  if (status == too_late)
    fmt::print(stderr, "It was still running after {} s and was ended: an endless loop? The GPU can be used again.\n",
               seconds);
  return status;
}

}  // namespace rungs
