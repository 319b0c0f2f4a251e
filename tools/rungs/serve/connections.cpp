#include "connections.hpp"

#include <sys/resource.h>

#include <system_error>
#include <thread>

namespace rungs {

ConnectionThreads::Enqueued ConnectionThreads::enqueue(std::function<void()> serve) {
  {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  const auto work = [this, serve] {
    serve();
    const std::lock_guard lock(mutex_);
    --running_;
    ended_.notify_all();
  };
  try {
    std::thread(work).detach();
  } catch (const std::system_error&) {
    work();  // no more threads: new connections wait for this one
  }
  return Enqueued(true);
}

void ConnectionThreads::shutdown() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return running_ == 0; });
}

void limit_files() {
  constexpr rlim_t most_files = 1024;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur <= most_files) return;
  files.rlim_cur = most_files;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace rungs
