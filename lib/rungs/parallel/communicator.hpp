/// How ranks, processes or threads that share one model, exchange numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "rungs/base/error.hpp"

namespace rungs {

/// A rank is gone or does not answer, so that the others cannot go on.
struct RankLost : Error {
  RankLost(int which, const std::string& sentence, bool told = false) : Error(sentence), rank(which), told_so(told) {}
  int rank;      ///< the one that was lost
  bool told_so;  ///< it said so itself, and ends; otherwise it is silent
};

/// What one rank sends to another and receives from it in one exchange. Either may be empty.
struct Parcel {
  int peer;
  std::span<const std::byte> send;
  std::span<std::byte> receive;
};

/// How the bytes travel: over the threads of one process, or over MPI. Every rank makes the same exchanges in the same
/// order.
struct Wires {
  int rank = 0, ranks = 1;
  /// Returns when all parcels have gone and come. \throws RankLost when a rank failed or does not answer in time.
  std::function<void(std::span<Parcel>)> exchange;
  /// Tells all others, who get a RankLost in their next exchange, why this rank ends.
  std::function<void(const std::string& sentence)> fail;
};

/// What a rank has communicated so far.
struct Traffic {
  int64_t all_reduces = 0, all_gathers = 0, broadcasts = 0;  ///< calls
  int64_t bytes_sent = 0;                                    ///< by this rank
  bool operator==(const Traffic&) const = default;
};

/// One rank's end of what all ranks call together. The three operations are those of MPI and NCCL; of tensors on a GPU:
/// see Collectives.
class Communicator {
 public:
  explicit Communicator(Wires wires) : wires_(std::move(wires)) {}

  int rank() const { return wires_.rank; }  ///< this one, from 0
  int ranks() const { return wires_.ranks; }

  /// x = the sum of every rank's x, added from rank 0 up: the same bits on all ranks. x has one size on all of them.
  /// Each rank adds up a part and sends it to the others, so that a rank sends 2 · (1 - 1/ranks) of x. \throws RankLost
  void all_reduce(std::span<float> x);
  /// all = mine of rank 0, then mine of rank 1, ...; mine has one size on all ranks. \throws RankLost
  void all_gather(std::span<float> all, std::span<const float> mine);
  void all_gather(std::span<std::byte> all, std::span<const std::byte> mine);
  /// bytes = those of the rank `root`. \throws RankLost
  void broadcast(std::span<std::byte> bytes, int root = 0);
  /// Tells the others why this rank ends.
  void fail(const std::string& sentence) { wires_.fail(sentence); }

  const Traffic& traffic() const { return traffic_; }
  /// Counts what these ranks communicated by other means, such as NCCL.
  void count(const Traffic& elsewhere);

 private:
  void exchange();

  Wires wires_;
  Traffic traffic_;
  std::vector<Parcel> parcels_;  // of the exchange at hand
  std::vector<float> received_;  // parts of the other ranks, one after the other
};

/// The items [first, first + count).
struct Part {
  int64_t first, count;
};

/// What one rank has of n items: parts of one size, but for the last, which may be smaller. `grain`: items that stay
/// together.
Part part_of(int64_t n, int rank, int ranks, int64_t grain = 1);

/// What all_reduce of so many floats makes this rank send.
int64_t all_reduce_bytes(int64_t count, int rank, int ranks);

}  // namespace rungs
