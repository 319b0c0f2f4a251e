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

/// No more files may be open from now on, so that connections beyond wait until another ends.
void limit_files();

/// Ends the connections to this port of ours, whatever their clients are about.
void end_connections(int port);

}  // namespace rungs
