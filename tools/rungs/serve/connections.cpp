#include "connections.hpp"

#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdlib>
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
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur <= rlim_t(most_files)) return;
  files.rlim_cur = most_files;
  setrlimit(RLIMIT_NOFILE, &files);
}

int socket_of(const httplib::Request& request) {
  const std::string port = std::to_string(request.remote_port);
  for (int fd = 3; fd < most_files; ++fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    char host[NI_MAXHOST], service[NI_MAXSERV];
    auto* const client = reinterpret_cast<sockaddr*>(&address);
    if (getpeername(fd, client, &size) == 0 &&
        getnameinfo(client, size, host, sizeof host, service, sizeof service, NI_NUMERICHOST | NI_NUMERICSERV) == 0 &&
        request.remote_addr == host && port == service)
      return fd;
  }
  return -1;
}

bool is_gone(int socket) {
  char byte;
  return socket >= 0 && ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace rungs
