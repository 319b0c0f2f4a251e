/// What cpp-httplib leaves open about connections: how many at once, and whether the client is still there. Only
/// serve.cpp includes it.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <mutex>

namespace rungs {

/// A thread for each connection, as long as it lasts: one that sends nothing holds up nobody.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));  // newer versions: bool
  Enqueued enqueue(std::function<void()> serve) override;
  /// Waits for all.
  void shutdown() override;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  int64_t running_ = 0;
};

/// Connections beyond so many wait until another ends: no more files may be open.
inline constexpr int most_files = 1024;
void limit_files();

/// The socket of a request; -1 where it is not found.
int socket_of(const httplib::Request& request);
/// The client has closed its end.
bool is_gone(int socket);

}  // namespace rungs
