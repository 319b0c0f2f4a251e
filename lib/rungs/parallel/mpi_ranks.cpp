#include "rungs/parallel/mpi_ranks.hpp"

#ifdef RUNGS_HAS_MPI

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "rungs/parallel/roll_call.hpp"

namespace rungs {

using namespace std::chrono_literals;

namespace {

constexpr int data_tag = 1, fail_tag = 2;

void check(int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(fmt::format("MPI: {}", std::string(text, size_t(length))));
}

/// A message that counts its bytes in an int.
int size_of(size_t bytes) {
  if (bytes > INT_MAX)
    throw UsageError(
        fmt::format("MPI: wanted messages of up to {} bytes, found {}: fewer rows in a call fit", INT_MAX, bytes));
  return int(bytes);
}

/// What is under way in one exchange.
struct Link {
  double patience;
  std::vector<MPI_Request> requests = {};
  std::vector<int> peers = {};  // of each request

  void start(std::span<Parcel> parcels) {
    requests.clear(), peers.clear();
    for (const Parcel& p : parcels) {
      if (p.receive.empty()) continue;
      peers.push_back(p.peer);
      check(MPI_Irecv(p.receive.data(), size_of(p.receive.size()), MPI_BYTE, p.peer, data_tag, MPI_COMM_WORLD,
                      &requests.emplace_back()));
    }
    for (const Parcel& p : parcels) {
      if (p.send.empty()) continue;
      peers.push_back(p.peer);
      check(MPI_Isend(p.send.data(), size_of(p.send.size()), MPI_BYTE, p.peer, data_tag, MPI_COMM_WORLD,
                      &requests.emplace_back()));
    }
  }

  bool done() {
    int all = 0;
    check(MPI_Testall(int(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE));
    return all != 0;
  }

  /// The first rank of which something is still missing.
  int missing() {
    for (size_t i = 0; i < requests.size(); ++i) {
      int there = 0;
      check(MPI_Test(&requests[i], &there, MPI_STATUS_IGNORE));
      if (!there) return peers[i];
    }
    return 0;
  }
};

/// \throws RankLost where another rank has told why it ends.
void look_for_failures() {
  int there = 0;
  MPI_Status status;
  check(MPI_Iprobe(MPI_ANY_SOURCE, fail_tag, MPI_COMM_WORLD, &there, &status));
  if (!there) return;
  int size = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &size));
  std::string sentence(size_t(size), ' ');
  check(MPI_Recv(sentence.data(), size, MPI_BYTE, status.MPI_SOURCE, fail_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  throw RankLost(status.MPI_SOURCE, fmt::format("rank {}: {}", status.MPI_SOURCE, sentence), /*told=*/true);
}

/// Waits with open eyes for a while, since most answers come at once; then leaves the processor to others, the more so
/// the longer it takes: where a server has nothing to do, its ranks wait for hours.
void exchange(Link& link, std::span<Parcel> parcels) {
  link.start(parcels);
  double begin = MPI_Wtime(), last = begin;
  for (int64_t turn = 1; !link.done(); ++turn) {
    if (turn % 64 != 0) continue;
    look_for_failures();
    std::this_thread::yield();
    const double now = MPI_Wtime(), waited = now - begin;
    const bool was_stopped = now - last > link.patience / 2;  // itself, and so knows nothing of the others
    last = now;
    if (was_stopped) {
      begin = now;
      continue;
    }
    if (waited > 0.02) usleep(waited > 0.1 ? 2000 : 100);
    if (waited > link.patience) {
      const int peer = link.missing();
      throw RankLost(peer, fmt::format("rank {} has not answered for {} s: it was stopped, or its machine cannot be "
                                       "reached",
                                       peer, link.patience));
    }
  }
}

void tell_all(const std::string& sentence, int rank, int ranks) {
  std::vector<MPI_Request> requests;
  for (int peer = 0; peer < ranks; ++peer)
    if (peer != rank)
      MPI_Isend(sentence.data(), int(sentence.size()), MPI_BYTE, peer, fail_tag, MPI_COMM_WORLD,
                &requests.emplace_back());
  const double begin = MPI_Wtime();
  for (int all = 0; !all && MPI_Wtime() - begin < 1;)
    MPI_Testall(int(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE);
}

/// Counts the time of one call of MPI that waits for all ranks, as long as it lives.
class Watch {
 public:
  Watch(const Patience& patience, RollCall::Stage stage, double seconds)
      : patience_(patience), stage_(stage), seconds_(seconds), ranks_(RollCall::of_this_job()) {
    look();
    thread_ = std::jthread([this](const std::stop_token& over) { wait(over); });
  }
  ~Watch() {
    thread_.request_stop();
    thread_.join();
    if (ranks_) ranks_->answer(RollCall::Stage(stage_ + 1));
  }

 private:
  static constexpr double turn = 0.05;

  std::optional<RollCall::Awaited> look() {
    if (!ranks_) return {};
    ranks_->answer(stage_);
    return ranks_->look(stage_);
  }

  void wait(const std::stop_token& over) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any wakes;
    // Turns are counted, not the clock asked: it went on while this process was stopped itself.
    std::optional<RollCall::Awaited> awaited;
    for (double waited = 0; waited < seconds_; waited += turn) {
      if (wakes.wait_for(lock, over, 50ms, [&] { return over.stop_requested(); })) return;
      awaited = look();
      if (awaited && awaited->has_come && awaited->turns * turn > patience_.seconds)
        return patience_.give_up(
            Error(fmt::format("rank {} has not answered for {} s: it was stopped", awaited->rank, patience_.seconds)));
    }
    const bool begins = stage_ == RollCall::begins;
    const char* done = begins ? "begun" : "ended";
    patience_.give_up(Error(
        awaited
            ? fmt::format("rank {} has not {} within {} s: it was stopped{}", awaited->rank, done, seconds_,
                          begins ? ", or did not start" : "")
            : fmt::format("the ranks have not all {} within {} s: one was stopped, or its machine cannot be reached",
                          done, seconds_)));
  }

  const Patience& patience_;
  RollCall::Stage stage_;
  double seconds_;
  std::unique_ptr<RollCall> ranks_;
  std::jthread thread_;
};

int ask(int (*question)(MPI_Comm, int*), MPI_Comm ranks) {
  int answer = 0;
  check(question(ranks, &answer));
  return answer;
}

}  // namespace

MpiRanks join_mpi(const Patience& patience) {
  const Watch watch(patience, RollCall::begins, 6 * patience.seconds);
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
  if (provided < MPI_THREAD_SERIALIZED)
    throw UsageError("MPI: wanted one that may be called by one thread after the other, found one that may not");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MPI_Comm here = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
  const int rank = ask(MPI_Comm_rank, MPI_COMM_WORLD), ranks = ask(MPI_Comm_size, MPI_COMM_WORLD);
  const auto link = std::make_shared<Link>(Link{patience.seconds});
  MpiRanks joined{Communicator({rank, ranks, [link](std::span<Parcel> parcels) { exchange(*link, parcels); },
                                [=](const std::string& sentence) { tell_all(sentence, rank, ranks); }}),
                  ask(MPI_Comm_size, here), ask(MPI_Comm_rank, here)};
  check(MPI_Comm_free(&here));
  return joined;
}

void leave_mpi(const Patience& patience) {
  const Watch watch(patience, RollCall::ends, patience.seconds);
  check(MPI_Finalize());
}

void abort_mpi(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  _exit(status);
}

}  // namespace rungs

#else

#include <cstdlib>

namespace rungs {

MpiRanks join_mpi(const Patience&) {
  throw UsageError(
      "this rungs was built without MPI, over which ranks talk: install Open MPI (on Debian libopenmpi-dev) and build "
      "again");
}

void leave_mpi(const Patience&) {}
void abort_mpi(int status) { std::_Exit(status); }

}  // namespace rungs

#endif
