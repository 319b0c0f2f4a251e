/// Where the device memory of a checked build stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace rungs::emulator {

/// A few large areas of memory, apart from the host's, so that a pointer to that is never taken for one just beside an
/// array, and that one call of mprotect opens or closes all arrays of an area: lessons have hundreds, and launch
/// kernels thousands of times. An array gets the first hole in which it fits with `gap` bytes before and after it, so
/// that arrays stand in the same way towards each other in every run.
class DevicePages {
 public:
  explicit DevicePages(size_t gap) : gap_(gap) {}
  /// At the begin of a page, open; null where the system has no more memory.
  void* get(size_t bytes);
  /// What get() gave.
  void give_back(void* memory);
  /// All of it: PROT_NONE, or PROT_READ | PROT_WRITE.
  void protect(int protection) const;

 private:
  struct Area {
    uintptr_t begin;
    size_t bytes;
    std::map<uintptr_t, uintptr_t> arrays;  // begin and end of each, without its gaps

    uintptr_t hole_for(size_t bytes, size_t gap) const;  // 0: none
  };
  size_t gap_;
  std::vector<Area> areas_;
};

}  // namespace rungs::emulator
