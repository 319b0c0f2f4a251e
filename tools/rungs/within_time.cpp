#include "within_time.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "rungs/base/shell.hpp"

namespace rungs {

std::string within_time(const std::string& command, int seconds) {
  return fmt::format("timeout --foreground {} {}", seconds, command);  // so that Ctrl-C reaches the command
}

int run_within_time(const std::string& command, int seconds) {
  const int status = exit_status(std::system(within_time(command, seconds).c_str()));
  if (status == too_late)
    fmt::print(stderr, "It was still running after {} s and was ended: an endless loop? The GPU can be used again.\n",
               seconds);
  return status;
}

}  // namespace rungs
