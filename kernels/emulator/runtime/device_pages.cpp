#include "kernels/emulator/runtime/device_pages.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace rungs::emulator {

constexpr size_t pages = 64 << 10, least_of_a_piece = 16 << 20;  // pages: whole ones, however large the system's are

static size_t whole_pages(size_t bytes) { return (bytes + pages - 1) / pages * pages; }

uintptr_t DevicePages::Piece::hole_for(size_t wanted, size_t gap) const {
  uintptr_t hole = begin + gap;
  for (const auto& [array, end] : arrays) {
    if (hole + wanted + gap <= array) return hole;
    hole = end + gap;
  }
  return hole + wanted + gap <= begin + bytes ? hole : 0;
}

void* DevicePages::get(size_t bytes) {
  bytes = whole_pages(bytes);
  for (Piece& piece : pieces_) {
    if (const uintptr_t hole = piece.hole_for(bytes, gap_)) {
      piece.arrays[hole] = hole + bytes;
      return reinterpret_cast<void*>(hole);
    }
  }
  const size_t size = std::max(bytes + 2 * gap_, least_of_a_piece);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const uintptr_t begin = uintptr_t(memory), array = begin + gap_;
  pieces_.push_back({begin, size, {{array, array + bytes}}});
  return reinterpret_cast<void*>(array);
}

void DevicePages::give_back(void* memory) {
  const auto array = uintptr_t(memory);
  const auto piece =
      std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.arrays.count(array); });
  madvise(memory, piece->arrays[array] - array, MADV_DONTNEED);
  piece->arrays.erase(array);
  if (!piece->arrays.empty()) return;
  munmap(reinterpret_cast<void*>(piece->begin), piece->bytes);
  pieces_.erase(piece);
}

void DevicePages::protect(int protection) const {
  for (const Piece& piece : pieces_) mprotect(reinterpret_cast<void*>(piece.begin), piece.bytes, protection);
}

}  // namespace rungs::emulator
