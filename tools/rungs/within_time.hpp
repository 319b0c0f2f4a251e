/// A limit of time for commands that run on a GPU.
#pragma once

#include <string>

#include "rungs/grader/runner.hpp"

namespace rungs {

/// The same command, ended after that time, with the status too_late. A process that was ended leaves nothing on a GPU:
/// its context, with the memory and the kernel that ran, goes with it.
std::string within_time(const std::string& command, int seconds = seconds_on_gpu);
inline constexpr int too_late = 124;

/// Runs a command within that time, and says on stderr when it was over. \returns its exit status
int run_within_time(const std::string& command, int seconds = seconds_on_gpu);

}  // namespace rungs
