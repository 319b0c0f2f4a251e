#include "child_processes.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <thread>

#include "rungs/base/error.hpp"

namespace rungs {

size_t default_jobs() { return std::max(1u, std::thread::hardware_concurrency()); }

/// In the child, which must not go on with what its parent does.
static int status_of(const std::function<int(size_t)>& work, size_t i) {
  try {
    return work(i);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}

void in_child_processes(size_t count, size_t jobs, const std::function<int(size_t)>& work,
                        const std::function<void(size_t, int)>& ended) {
  std::map<pid_t, size_t> running;
  const auto wait_for_one = [&] {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno != EINTR) throw Error("the system does not say how a child process ended");
    const auto it = running.find(pid);
    if (it == running.end()) return;
    const size_t i = it->second;
    running.erase(it);
    ended(i, status);
  };
  for (size_t i = 0; i < count; ++i) {
    while (running.size() >= jobs) wait_for_one();
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid < 0) throw Error("no child process could be started");
    if (pid == 0) _exit(status_of(work, i));
    running[pid] = i;
  }
  while (!running.empty()) wait_for_one();
}

}  // namespace rungs
