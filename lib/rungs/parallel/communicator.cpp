#include "rungs/parallel/communicator.hpp"

#include <algorithm>
#include <cstring>

namespace rungs {

Part part_of(int64_t n, int rank, int ranks, int64_t grain) {
  const int64_t grains = (n + grain - 1) / grain, each = (grains + ranks - 1) / ranks;
  const int64_t first = std::min(rank * each * grain, n), last = std::min((rank + 1) * each * grain, n);
  return {first, last - first};
}

int64_t all_reduce_bytes(int64_t count, int rank, int ranks) {
  const int64_t mine = part_of(count, rank, ranks).count, others = count - mine;
  return (others + (ranks - 1) * mine) * int64_t(sizeof(float));
}

void Communicator::count(const Traffic& elsewhere) {
  traffic_.all_reduces += elsewhere.all_reduces, traffic_.all_gathers += elsewhere.all_gathers;
  traffic_.broadcasts += elsewhere.broadcasts, traffic_.bytes_sent += elsewhere.bytes_sent;
}

void Communicator::exchange() {
  for (const Parcel& parcel : parcels_) traffic_.bytes_sent += int64_t(parcel.send.size());
  if (!parcels_.empty()) wires_.exchange(parcels_);
  parcels_.clear();
}

// First every rank gets its part of each other's x and adds the parts up; then all get all sums.
void Communicator::all_reduce(std::span<float> x) {
  ++traffic_.all_reduces;
  const auto part = [&](int rank) {
    const Part p = part_of(int64_t(x.size()), rank, ranks());
    return x.subspan(size_t(p.first), size_t(p.count));
  };
  const std::span<float> mine = part(rank());
  received_.resize(std::max(received_.size(), mine.size() * size_t(ranks())));
  const auto received = [&](int rank) { return std::span(received_).subspan(size_t(rank) * mine.size(), mine.size()); };

  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank()) parcels_.push_back({peer, std::as_bytes(part(peer)), std::as_writable_bytes(received(peer))});
  exchange();
  std::copy(mine.begin(), mine.end(), received(rank()).begin());
  for (int peer = 0; peer < ranks(); ++peer)
    for (size_t i = 0; i < mine.size(); ++i) mine[i] = peer == 0 ? received(0)[i] : mine[i] + received(peer)[i];

  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank()) parcels_.push_back({peer, std::as_bytes(mine), std::as_writable_bytes(part(peer))});
  exchange();
}

void Communicator::all_gather(std::span<float> all, std::span<const float> mine) {
  all_gather(std::as_writable_bytes(all), std::as_bytes(mine));
}

void Communicator::all_gather(std::span<std::byte> all, std::span<const std::byte> mine) {
  if (all.size() != mine.size() * size_t(ranks())) throw ShapeError("all_gather: wanted room for every rank's part");
  ++traffic_.all_gathers;
  const auto place = [&](int rank) { return all.subspan(size_t(rank) * mine.size(), mine.size()); };
  std::memmove(place(rank()).data(), mine.data(), mine.size());
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank()) parcels_.push_back({peer, mine, place(peer)});
  exchange();
}

void Communicator::broadcast(std::span<std::byte> bytes, int root) {
  ++traffic_.broadcasts;
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != root && rank() == root) parcels_.push_back({peer, bytes, {}});
  if (rank() != root) parcels_.push_back({root, {}, bytes});
  exchange();
}

}  // namespace rungs
