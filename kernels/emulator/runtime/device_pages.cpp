#include "kernels/emulator/runtime/device_pages.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace rungs::emulator {

constexpr size_t page_bytes = 64 << 10, least_of_an_area = 16 << 20;  // page_bytes: a multiple of the system's pages

static size_t whole_pages(size_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

uintptr_t DevicePages::Area::hole_for(size_t wanted, size_t gap) const {
  uintptr_t hole = begin + gap;
  for (const auto& [array, end] : arrays) {
    if (hole + wanted + gap <= array) return hole;
    hole = end + gap;
  }
  return hole + wanted + gap <= begin + bytes ? hole : 0;
}

void* DevicePages::get(size_t bytes) {
  bytes = whole_pages(bytes);
  for (Area& area : areas_) {
    if (const uintptr_t hole = area.hole_for(bytes, gap_)) {
      area.arrays[hole] = hole + bytes;
      return reinterpret_cast<void*>(hole);
    }
  }
  const size_t size = std::max(bytes + 2 * gap_, least_of_an_area);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const uintptr_t begin = uintptr_t(memory), array = begin + gap_;
  areas_.push_back({begin, size, {{array, array + bytes}}});
  return reinterpret_cast<void*>(array);
}

void DevicePages::give_back(void* memory) {
  const auto array = uintptr_t(memory);
  const auto area = std::find_if(areas_.begin(), areas_.end(), [&](const Area& p) { return p.arrays.count(array); });
  madvise(memory, area->arrays[array] - array, MADV_DONTNEED);
  area->arrays.erase(array);
  if (!area->arrays.empty()) return;
  munmap(reinterpret_cast<void*>(area->begin), area->bytes);
  areas_.erase(area);
}

void DevicePages::protect(int protection) const {
  for (const Area& area : areas_) mprotect(reinterpret_cast<void*>(area.begin), area.bytes, protection);
}

}  // namespace rungs::emulator
