/// The counter: how much memory traffic each line of a kernel causes. Only in checked builds, where the compiler shows
/// every access. It counts instead of checking (RUNGS_COUNT=1, or count_accesses): a line is counted once it is right,
/// and both at once would be slow.
///
/// The lanes of a warp that come to an instruction for the same time since the last barrier make one request.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/emulator/checker/shadow.hpp"

namespace rungs::emulator {

/// One request of a warp: what it costs, and where each lane's bytes begin in the array, -1 for a lane that takes no
/// part.
struct CountedRequest {
  uint64_t cost = 0, ideal = 0;
  std::array<int64_t, 32> offset{};
};

/// What one line of a kernel does in one way: loads, stores or atomics of one size, in shared or global memory.
struct CountedLine {
  std::string file;  ///< "matmul/03_tile.cu"
  int line = 0;
  bool shared = false;
  Kind kind = Kind::read;
  unsigned access_bytes = 0;  ///< of one lane: 4 for a float, 16 for a float4
  uint64_t bytes = 0;         ///< of all lanes
  uint64_t requests = 0;      ///< by warps
  uint64_t cost = 0;          ///< of all requests: 32-byte sectors of global memory, or waves through the shared banks
  uint64_t ideal = 0;         ///< the least cost with the same bytes
  CountedRequest costliest;   ///< of these requests; among equals the first
  /// More than 1.5 times the ideal: worth a look.
  bool wasteful() const { return 2 * cost > 3 * ideal; }
};

/// Whether accesses are counted now, and not checked.
bool counting();
void count_accesses(bool yes);

/// All since the last reset, by file and line.
std::vector<CountedLine> counted_lines();
void reset_counts();
/// A JSON array of objects, one a line.
std::string counted_json(const std::vector<CountedLine>& lines);

/// \name What the checker tells
///@{
void count_access(size_t offset, unsigned bytes, Kind kind, bool shared, uint32_t site);
void finish_counted_requests();  ///< at a barrier and at the block's end: lanes that have not come will not come
///@}

}  // namespace rungs::emulator
