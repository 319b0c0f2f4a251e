#include "rungs/parallel/thread_ranks.hpp"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

namespace rungs {

namespace {

/// What all threads look at.
struct Board {
  struct Slot {
    std::span<const std::byte> bytes;
    bool full = false;
  };
  Board(int n, double seconds) : ranks(n), patience(seconds), slots(size_t(n) * size_t(n)), left(size_t(n)) {}
  /// What `from` has sent `to`, until it is taken.
  Slot& slot(int from, int to) { return slots[size_t(from) * size_t(ranks) + size_t(to)]; }

  int ranks;
  std::chrono::duration<double> patience;
  std::mutex mutex = {};
  std::condition_variable changed = {};
  std::vector<Slot> slots;
  std::vector<bool> left;  // ranks whose work has ended: none of them sends or takes anything any more
  std::optional<RankLost> lost = {};
  std::exception_ptr error = {};  // of the rank that failed first
};

/// Writes on the board why the rank `me` ends, unless another rank was first. Under the lock.
void record(Board& board, int me, const std::string& sentence, std::exception_ptr error) {
  if (board.lost) return;
  board.lost.emplace(me, fmt::format("rank {}: {}", me, sentence), /*told=*/true);
  board.error = std::move(error);
  board.changed.notify_all();
}

/// Ends the rank `me`, and the others before they look at what it sent: those bytes may be gone when the lock is.
[[noreturn]] void give_up(Board& board, int me, const RankLost& reason) {
  record(board, me, reason.what(), std::make_exception_ptr(reason));
  throw reason;
}

/// Waits until the slot between `me` and `peer` is full or empty, as wanted.
void wait_for(Board& board, std::unique_lock<std::mutex>& lock, const Board::Slot& slot, bool full, int me, int peer) {
  const auto over = [&] { return slot.full == full || board.lost || board.left[size_t(peer)]; };
  const bool in_time = board.changed.wait_for(lock, board.patience, over);
  if (board.lost) throw *board.lost;
  if (in_time && slot.full != full)
    give_up(
        board, me,
        {peer, fmt::format("rank {} has ended, and another waits for it: wanted the same calls on every rank", peer)});
  if (!in_time)
    give_up(board, me, {peer, fmt::format("rank {} has not answered for {} s", peer, board.patience.count())});
}

void exchange(Board& board, int me, std::span<Parcel> parcels) {
  std::unique_lock lock(board.mutex);
  if (board.lost) throw *board.lost;
  for (const Parcel& p : parcels)
    if (!p.send.empty()) board.slot(me, p.peer) = {p.send, true};
  board.changed.notify_all();
  for (const Parcel& p : parcels) {
    if (p.receive.empty()) continue;
    Board::Slot& slot = board.slot(p.peer, me);
    wait_for(board, lock, slot, true, me, p.peer);
    if (slot.bytes.size() != p.receive.size())
      give_up(
          board, me,
          {p.peer, fmt::format("rank {} sent {} bytes, where rank {} wanted {}: wanted the same calls on every rank",
                               p.peer, slot.bytes.size(), me, p.receive.size())});
    std::memcpy(p.receive.data(), slot.bytes.data(), slot.bytes.size());
    slot.full = false;
    board.changed.notify_all();
  }
  for (const Parcel& p : parcels)  // what was sent may be written again only now
    if (!p.send.empty()) wait_for(board, lock, board.slot(me, p.peer), false, me, p.peer);
}

/// The rank's work has ended: whoever waits for it waits in vain.
void leave(Board& board, int rank) {
  const std::lock_guard lock(board.mutex);
  board.left[size_t(rank)] = true;
  board.changed.notify_all();
}

void fail(Board& board, int rank, const std::string& sentence, std::exception_ptr error) {
  const std::lock_guard lock(board.mutex);
  record(board, rank, sentence, std::move(error));
}

}  // namespace

void run_ranks(int ranks, const std::function<void(Communicator&)>& work, double patience) {
  Board board(ranks, patience);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&board, &work, rank, ranks] {
      Communicator communicator({rank, ranks, [&, rank](std::span<Parcel> parcels) { exchange(board, rank, parcels); },
                                 [&, rank](const std::string& sentence) { fail(board, rank, sentence, nullptr); }});
      try {
        work(communicator);
        leave(board, rank);
      } catch (const std::exception& e) {
        fail(board, rank, e.what(), std::current_exception());
      } catch (...) {
        fail(board, rank, "ended", std::current_exception());
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (board.error) std::rethrow_exception(board.error);
  if (board.lost) throw *board.lost;
}

}  // namespace rungs
