#include "memory.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <tuple>

#include "fault.hpp"

namespace rungs::ptx {

static std::map<u64, u64> allocations;  // begin and end of each
static size_t allocated = 0;
static u64 last_begin = 0, last_end = 0;  // of the allocation that was found last: the next is mostly the same

void* allocate(size_t bytes) {
  if (bytes > free_bytes()) return nullptr;
  // What follows an allocation is nobody's: two are never next to each other.
  const size_t with_gap = (bytes + 511) / 512 * 512 + 512;
  void* memory = std::aligned_alloc(512, with_gap);
  if (!memory) return nullptr;
  std::memset(memory, 0xff, with_gap);
  allocations[u64(memory)] = u64(memory) + bytes;
  allocated += bytes;
  return memory;
}

void free(void* memory) {
  const auto found = allocations.find(u64(memory));
  if (found == allocations.end()) throw Fault("memory is freed that was not allocated, or twice");
  allocated -= found->second - found->first;
  allocations.erase(found);
  last_end = 0;
  std::free(memory);
}

size_t free_bytes() { return device_bytes - allocated; }

static u8* find_global(u64 address, size_t bytes) {
  if (address < last_begin || address >= last_end) {
    const auto after = allocations.upper_bound(address);
    if (after != allocations.begin()) std::tie(last_begin, last_end) = *std::prev(after);
  }
  if (address >= last_begin && address + bytes <= last_end) return reinterpret_cast<u8*>(address);
  throw Fault(fmt::format("{} bytes of device memory outside of every allocation", bytes));
}

static u8* find_shared(const Block& block, u64 address, size_t bytes) {
  if (address < shared_begin || address + bytes > block.shared_end)
    throw Fault(fmt::format("{} bytes at {} of {} bytes of shared memory", bytes, s64(address) - s64(shared_begin),
                            block.shared_end - shared_begin));
  return block.shared + address;
}

static u8* find_parameter(const Block& block, u64 address, size_t bytes) {
  if (address + bytes > block.code->parameter_bytes)
    throw Fault(fmt::format("{} bytes at {} of {} bytes of parameters", bytes, address, block.code->parameter_bytes));
  return block.parameters + address;
}

u8* find(const Thread& thread, Space space, u64 address, size_t bytes) {
  const Block& block = *thread.block;
  if (space == Space::shared) address = u32(address);  // a window of 32 bits; the registers are often no wider
  if (address % bytes != 0) throw Fault(fmt::format("{} bytes at an address that is no multiple of it", bytes));
  switch (space) {
    case Space::global:
      return find_global(address, bytes);
    case Space::shared:
      return find_shared(block, address, bytes);
    case Space::parameter:
      return find_parameter(block, address, bytes);
    case Space::generic:
      break;
  }
  const u64 window = u64(block.shared);
  if (address >= window && address < window + block.shared_end) return find_shared(block, address - window, bytes);
  const u64 parameters = u64(block.parameters);
  if (address >= parameters && address < parameters + block.code->parameter_bytes)
    return find_parameter(block, address - parameters, bytes);
  return find_global(address, bytes);
}

u8* find_to_write(const Thread& thread, Space space, u64 address, size_t bytes) {
  u8* const found = find(thread, space, address, bytes);
  const Block& block = *thread.block;
  const bool shared = found >= block.shared && found < block.shared + block.shared_end;
  if (!thread.waited && !shared) throw Fault("a write to device memory before griddepcontrol.wait");
  return found;
}

}  // namespace rungs::ptx
