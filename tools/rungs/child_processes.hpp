/// Work shared among processes, so that a fault in one piece costs that piece alone.
#pragma once

#include <cstddef>
#include <functional>

namespace rungs {

/// As many as there are processors.
size_t default_jobs();

/// Calls work(i) for each i below `count` in a child process of its own, whose exit status it returns, `jobs` at a
/// time; and in this process ended(i, status) as each ends, with the status that waitpid gives: 0 where work returned
/// 0. What work throws is printed, and gives another status. \throws Error where no process can be started
void in_child_processes(size_t count, size_t jobs, const std::function<int(size_t)>& work,
                        const std::function<void(size_t, int)>& ended);

}  // namespace rungs
