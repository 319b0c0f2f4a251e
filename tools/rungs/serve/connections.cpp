#include "connections.hpp"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

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

constexpr rlim_t most_files = 1024;

void limit_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur <= most_files) return;
  files.rlim_cur = most_files;
  setrlimit(RLIMIT_NOFILE, &files);
}

/// Of a socket of the internet; -1: it is another file.
static int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return -1;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return -1;
}

void end_connections(int port) {
  for (int fd = 0; fd < int(most_files); ++fd)
    if (port_of(fd) == port) ::shutdown(fd, SHUT_RDWR);
}

}  // namespace rungs
