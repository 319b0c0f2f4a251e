/// The memory that one request of a warp touches, as a drawing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rungs {

/// What the lanes of a warp ask for at once, as the counter of the emulator recorded it.
struct WarpRequest {
  int line = 0;              ///< of the source
  std::string access;        ///< "load", "store" or "atomic"
  bool shared = false;       ///< memory: shared, else global
  int64_t access_bytes = 4;  ///< of one lane
  uint64_t cost = 0;         ///< sectors of global memory, or waves through the shared banks
  uint64_t ideal = 0;        ///< the fewest for these bytes
  /// Where each lane's bytes begin in the array, -1 for a lane that takes no part.
  std::array<int64_t, 32> offset;
};

/// A box of the drawing: 4 bytes of memory, and the lanes that want them.
struct MemoryWord {
  int64_t offset;  ///< of its first byte, a multiple of 4
  std::vector<int> lanes;
};

/// The words of one sector, or the words that the banks give in one wave.
struct MemoryRow {
  std::vector<MemoryWord> words;  ///< in the order of their offsets
  std::string lanes;              ///< of a wave of wide accesses: which lanes it serves, "0-7"; else empty
};

/// Global memory: a row for each sector of 32 bytes that the request touches, in order. Shared memory: a row for each
/// wave, in which every bank gives one word; 8-byte accesses go by half warps, 16-byte accesses by quarters.
std::vector<MemoryRow> rows_of(const WarpRequest& request);

/// The drawing as a file of its own that also stands inside a page, light and dark: of each request a heading, the
/// words of its rows with the lanes in them, and what of the sectors is read for nothing.
/// `code`: the source line, without its indent
std::string memory_svg(const std::string& lesson, const std::string& code, const std::vector<WarpRequest>& requests);

}  // namespace rungs
