#include "kernels/emulator/checker/shadow.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "kernels/emulator/engine/engine.hpp"

namespace rungs::emulator {
namespace {

std::map<uintptr_t, Region> regions;  // by address

}  // namespace

std::array<Region*, 4096> last_of_site{};

Region::Region(uintptr_t where, size_t size, bool is_shared, std::string text)
    : begin(where),
      bytes(size),
      shared(is_shared),
      name(std::move(text)),
      cells(size / granule + 1),
      written(is_shared ? 0 : size) {}

void Region::refine(unsigned size, uint32_t oldest) {
  Zeros<Cell> finer(bytes / size + granule / size);
  for (size_t i = 0; i * granule < bytes; ++i) {
    const Cell& cell = cells[i];
    bool recent = cell.write.interval >= oldest || cell.elsewhere.interval >= oldest;
    for (const Access& access : cell.since) recent |= access.interval >= oldest;
    for (size_t j = 0; recent && j < granule / size; ++j) finer[i * (granule / size) + j] = cell;
  }
  cells = std::move(finer);
  granule = size;
}

void add_region(Region region) {
  const uintptr_t begin = region.begin;
  remove_region(begin);
  regions.emplace(begin, std::move(region));
}

void remove_region(uintptr_t begin) {
  regions.erase(begin);
  last_of_site.fill(nullptr);
}

Region* region_at(uintptr_t address, uint32_t site) {
  auto next = regions.upper_bound(address);
  if (next == regions.begin()) return nullptr;
  Region& region = std::prev(next)->second;
  if (address - region.begin >= region.bytes) return nullptr;
  return last_of_site[site % last_of_site.size()] = &region;
}

const Region* region_near(uintptr_t address) {
  const auto next = regions.upper_bound(address);
  const Region* before = next == regions.begin() ? nullptr : &std::prev(next)->second;
  const Region* after = next == regions.end() ? nullptr : &next->second;
  const size_t to_before = before ? address - (before->begin + before->bytes) : SIZE_MAX;
  const size_t to_after = after ? after->begin - address : SIZE_MAX;
  const Region* nearest = to_before <= to_after ? before : after;
  if (!nearest) return nullptr;
  const size_t reach = nearest->shared ? 4096 : checked_gap_bytes;  // beside shared memory is the host's
  return std::min(to_before, to_after) < reach ? nearest : nullptr;
}

}  // namespace rungs::emulator
