// The checker: finds races, accesses outside of memory and reads of what nobody wrote, in kernels that run on the CPU.
//
// When two accesses of a block are ordered. CUDA orders what threads do to memory by barriers alone: __syncthreads for
// the block, __syncwarp for the lanes in its mask. (Shuffles, votes and matrix operations wait for lanes, but CUDA
// promises nothing about memory there.) Two accesses race when nothing orders them and one is a write, unless
// both are atomic. So the checker needs no luck with the order in which threads happen to run.
//   Time is cut into intervals, numbered through the whole program; a new one begins at each __syncthreads, block and
// launch, which run one after the other here. Two accesses in different intervals of one block are ordered. Two of
// different blocks of a launch are only where fences and an atomic order them: BlockOrder. In one interval, two threads
// of different warps are not ordered; two of one warp are if a chain of __syncwarp leads from one to the other:
// WarpOrder.
//   For each few bytes the last write and the reads after it are kept, as far as they can matter: Cell.
//
// What nobody has written. A read of shared memory that no thread of the block has written is held until the next
// barrier: if another thread writes there before it, it is a race, because a barrier is missing; otherwise the
// memory is uninitialised. The same for device memory that neither a kernel nor a copy has written.
//
// What comes too early. A kernel that may overlap those before it (programmatic dependent launch) begins, at worst,
// when they have done nothing yet. Until a thread has waited for them it may write no device memory, and may read none
// that one of them writes. They are the launches since the last one that overlaps nothing, that one included, or since
// the stream last waited for all. Two neighbours are not enough: when the second lets the third begin, the first may
// still run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "cuda_runtime.h"
#include "kernels/emulator/checker/block_order.hpp"
#include "kernels/emulator/checker/count.hpp"
#include "kernels/emulator/checker/fault_text.hpp"
#include "kernels/emulator/checker/shadow.hpp"
#include "kernels/emulator/checker/source_line.hpp"
#include "kernels/emulator/engine/engine.hpp"

namespace rungs::emulator {
namespace {

/// Which accesses of a warp in this interval come before what its lanes do now. A tick passes at each __syncwarp.
struct WarpOrder {
  uint32_t tick = 0;
  uint32_t all = 0;            ///< the last tick at which the whole warp met: everything before it is ordered
  bool parts_met = false;      ///< some met without the others, so that `seen` matters
  uint32_t seen[32][32] = {};  ///< [lane][other]: accesses of `other` before this tick come before what `lane` does now

  void begin_interval() {
    if (parts_met) *this = WarpOrder();
    tick = all = 0;
  }

  void meet(unsigned lanes) {
    ++tick;
    if (lanes == ~0u) {
      all = tick;
      return;
    }
    parts_met = true;
    uint32_t joined[32] = {};  // what one of them has seen, all see now
    for (int other = 0; other < 32; ++other) {
      for (int lane = 0; lane < 32; ++lane) {
        if (lanes >> lane & 1) joined[other] = std::max(joined[other], seen[lane][other]);
      }
      if (lanes >> other & 1) joined[other] = tick;
    }
    for (int lane = 0; lane < 32; ++lane) {
      if (lanes >> lane & 1) std::copy(joined, joined + 32, seen[lane]);
    }
  }

  /// The lanes of `before` whose access is not ordered before what `lane` does now.
  unsigned unordered(const Access& before, unsigned lane) const {
    unsigned others = before.lanes & ~(1u << lane);
    if (before.tick < all) return 0;
    if (!parts_met) return others;
    for (unsigned rest = others; rest; rest &= rest - 1) {
      const int other = __builtin_ctz(rest);
      if (before.tick < seen[lane][other]) others &= ~(1u << other);
    }
    return others;
  }
};

/// A block of the running launch, by its first interval.
struct BlockStart {
  uint32_t interval;
  uint3 index;
};

uint32_t interval = 1;  // now
uint32_t first_of_block = 1, first_of_launch = 1;
uint32_t first_that_may_run = 1;  // the first interval of kernels that this one may overlap
WarpOrder warps[32];
BlockOrder block_order;
std::optional<HeldRead> held;
std::vector<BlockStart> blocks;
FreedMemory freed;
uintptr_t dynamic_now = 0;  // the region of dynamic shared memory
size_t dynamic_bytes = 0;
std::array<uintptr_t, 256> known_static{};  // addresses of threadIdx and its like: they are read all the time

/// "block (1,0,0)", whose interval it was.
std::string block_of(uint32_t of_interval) {
  const auto after = std::upper_bound(blocks.begin(), blocks.end(), of_interval,
                                      [](uint32_t value, const BlockStart& block) { return value < block.interval; });
  if (after == blocks.begin()) return "another block";
  const uint3 index = std::prev(after)->index;
  return fmt::format("block ({},{},{})", index.x, index.y, index.z);
}

/// A fault ends the launch without a way back to its frames, so each text goes to fail() as a temporary, which it
/// takes; what a text is made of has ended before.
std::string text_of_race(const Region& region, size_t offset, const Access& before, const Access& now, unsigned lanes) {
  const bool other_block = before.interval < first_of_block;
  return race_text(region, offset, before, now, lanes, other_block ? block_of(before.interval) : "");
}

/// The lanes of `before` that race with `now`; 0: it is ordered, or allowed.
unsigned rivals(const Access& before, const Access& now) {
  if (before.kind == now.kind && (now.kind == Kind::read || now.kind == Kind::atomic)) return 0;
  if (before.interval < first_of_block)  // another block
    return block_order.before(before, now.warp * 32 + now.lane, interval) ? 0 : before.lanes;
  if (before.interval < interval) return 0;  // a barrier stands between
  if (before.warp != now.warp) return before.lanes;
  return warps[now.warp].unordered(before, now.lane);
}

/// Adds a read, or an atomic, to those since the last write.
void remember(Cell& cell, const Access& now, uint32_t oldest) {
  for (Access& access : cell.since) {
    if (access.interval == interval) continue;
    if (access.interval >= oldest && access.interval < first_of_block) cell.elsewhere = access;
    access = {};  // a barrier orders it before all that follows
  }
  for (Access& access : cell.since) {
    if (access.interval == 0) {
      access = now;
      return;
    }
    if (access.warp != now.warp) continue;
    if (access.tick < warps[now.warp].all) {
      access = now;
    } else {
      // Lanes that met without the others may stand at different ticks; the later one is kept for all.
      access.lanes |= now.lanes;
      access.tick = now.tick;
    }
    return;
  }
}

/// A read beside reads that are known already, with no write since the last barrier: most accesses are such.
bool joins_reads(Cell& cell, const Access& now) {
  if (now.kind != Kind::read || cell.write.interval >= interval) return false;
  for (Access& access : cell.since) {
    if (access.interval != interval || access.kind != Kind::read) return false;
    if (access.warp != now.warp) continue;
    if (access.tick != now.tick) return false;
    access.lanes |= now.lanes;
    return true;
  }
  return true;  // of two other warps
}

void note(const Region& region, Cell& cell, size_t offset, const Access& now) {
  const uint32_t oldest = region.shared ? first_of_block : first_of_launch;
  if (cell.write.kind == Kind::copy && cell.write.interval >= first_of_block) {
    fail(in_flight_text(region, offset, cell.write, now));
  }
  for (const Access* before : {&cell.write, &cell.since[0], &cell.since[1], &cell.elsewhere}) {
    if (before->interval < oldest) continue;
    if (const unsigned lanes = rivals(*before, now)) fail(text_of_race(region, offset, *before, now, lanes));
  }
  if (now.kind == Kind::write || now.kind == Kind::copy) {
    cell = Cell{.write = now, .since = {}, .elsewhere = {}};
    return;
  }
  if (cell.since[0].kind != now.kind) {  // the others come before now
    if (cell.since[0].kind == Kind::atomic && cell.since[0].interval >= oldest) cell.write = cell.since[0];
    cell.since[0] = cell.since[1] = cell.elsewhere = {};
  }
  remember(cell, now, oldest);
}

bool unwritten(const Region& region, const Cell& cell, size_t offset) {
  if (!region.shared) return !region.written[offset] || !region.written[offset + region.granule - 1];
  const bool changed = cell.since[0].kind == Kind::atomic && cell.since[0].interval >= first_of_block;
  return cell.write.interval < first_of_block && !changed;
}

Access access_now(Kind kind, uint32_t site) {
  const unsigned thread = unsigned(thread_index());
  Access now{};
  now.interval = interval;
  now.site = site;
  now.lanes = 1u << thread % 32;
  now.tick = warps[thread / 32].tick & 0xfffff;
  now.warp = thread / 32 & 31;
  now.lane = thread % 32;
  now.kind = kind;
  return now;
}

/// The region of an address, or null for memory that is the thread's own or never written: local variables, the
/// launch's parameters, threadIdx, constants.
Region* find_region(uintptr_t address, unsigned bytes, Kind kind, uint32_t site) {
  if (Region* region = region_again(address, site)) return region;
  uintptr_t& known = known_static[address / 4 % known_static.size()];
  if ((address == known && address) || on_own_stack(address)) return nullptr;
  if (Region* region = region_at(address, site)) return region;
  if (in_arguments(address)) return nullptr;
  if (!in_static_object(address)) fail(stray_text(address, bytes, kind, site, freed));
  known = address;
  return nullptr;
}

/// What a kernel that may still run did to these bytes, or null.
const Access* change_by_earlier_kernel(const Region& region, size_t offset, unsigned bytes) {
  for (size_t at = offset / region.granule; at * region.granule < offset + bytes; ++at) {
    const Cell& cell = region.cells[at];
    for (const Access* access : {&cell.write, &cell.since[0], &cell.since[1], &cell.elsewhere})
      if (access->kind != Kind::read && access->interval >= first_that_may_run) return access;
  }
  return nullptr;
}

/// An access to device memory by a thread that has not waited for the kernels before its own.
void require_not_too_early(const Region& region, size_t offset, unsigned bytes, Kind kind, uint32_t site) {
  const Access* earlier = kind == Kind::read ? change_by_earlier_kernel(region, offset, bytes) : nullptr;
  if (earlier || kind != Kind::read) fail(early_text(region, offset, bytes, kind, site, earlier));
}

void see(uintptr_t address, unsigned bytes, Kind kind, uint32_t site) {
  Region* region = find_region(address, bytes, kind, site);
  if (!region) return;
  const size_t offset = address - region->begin;
  if (offset + bytes > region->bytes) {
    fail(overrun_text(*region, bytes, kind, site));
  }
  if (counting()) {
    count_access(offset, bytes, kind, region->shared, site);
  } else {
    const unsigned odd = unsigned(offset | bytes) & (region->granule - 1);
    if (odd) region->refine(odd & -odd, region->shared ? first_of_block : first_that_may_run);
    if (!region->shared && !has_waited()) require_not_too_early(*region, offset, bytes, kind, site);
    const Access now = access_now(kind, site);
    const unsigned granule = region->granule;
    for (size_t at = offset; at < offset + bytes; at += granule) {
      Cell& cell = region->cells[at / granule];
      if (joins_reads(cell, now)) continue;
      if (kind != Kind::write && kind != Kind::copy && !held && unwritten(*region, cell, at)) {
        held = HeldRead{region, at, granule, site, thread_index()};
      }
      note(*region, cell, at, now);
    }
  }
  if (!region->shared && kind != Kind::read) std::fill_n(&region->written[offset], bytes, uint8_t(1));
}

/// While it lives, accesses are the checker's and not the kernel's: both may use the same function of the standard
/// library, and the linker keeps one, perhaps the one with hooks.
struct InChecker {
  const bool outer = in_user_code();
  InChecker() { set_user_code(false); }
  ~InChecker() { set_user_code(outer); }
};

/// Says that nobody has written what a thread read, now that no write by another thread can come before a barrier.
void judge_held_read() {
  if (!held) return;
  const HeldRead read = *std::exchange(held, std::nullopt);
  fail_in_thread(read.thread, unwritten_text(read));
}

void begin_interval() {
  ++interval;
  for (WarpOrder& warp : warps) warp.begin_interval();
}

}  // namespace

// ------------------------------------------------------------------------------------------- what the engine tells

bool is_of_device(uintptr_t address) {
  const InChecker checking;
  return region_at(address, 0);
}

void checked_allocation(uintptr_t begin, size_t bytes) {
  const uintptr_t first = begin - checked_gap_bytes, end = begin + bytes + checked_gap_bytes;
  auto old = freed.upper_bound(first);
  if (old != freed.begin() && std::prev(old)->first + std::prev(old)->second > first) --old;
  while (old != freed.end() && old->first < end) old = freed.erase(old);
  add_region(Region(begin, bytes, false, "an allocation of " + std::to_string(bytes) + " bytes of device memory"));
}

void checked_free(uintptr_t begin) {
  if (const Region* region = region_at(begin, 0)) freed[begin] = region->bytes;
  remove_region(begin);
}

void checked_host_write(uintptr_t begin, size_t bytes) {
  if (Region* region = region_at(begin, 0)) {
    const size_t offset = begin - region->begin;
    std::fill_n(&region->written[offset], std::min(bytes, region->bytes - offset), uint8_t(1));
  }
}

void checked_launch_begins(const std::string&, bool overlap) {
  static const bool once = [] {
    for (const SharedArray& array : shared_arrays()) {
      const std::string name = array.name.substr(array.name.rfind(':') + 1);  // the message names the kernel anyway
      add_region(Region(array.address, array.bytes, true, "the shared array " + name));
    }
    return true;
  }();
  static_cast<void>(once);
  begin_interval();
  first_of_launch = interval;
  if (!overlap) first_that_may_run = interval;
  blocks.clear();
  block_order.begin_launch();
}

void checked_kernels_ended() { first_that_may_run = interval + 1; }

void checked_block_begins(unsigned char* dynamic_shared, size_t bytes) {
  begin_interval();
  first_of_block = interval;
  blocks.push_back({interval, blockIdx});
  block_order.begin_block(interval);
  held.reset();
  const uintptr_t begin = uintptr_t(dynamic_shared);
  if (begin == dynamic_now && bytes == dynamic_bytes) return;
  if (dynamic_bytes) remove_region(dynamic_now);
  if (bytes) add_region(Region(begin, bytes, true, "dynamic shared memory (" + std::to_string(bytes) + " bytes)"));
  dynamic_now = begin;
  dynamic_bytes = bytes;
}

void checked_block_ends() {
  judge_held_read();
  finish_counted_requests();
}

void checked_barrier() {
  judge_held_read();
  finish_counted_requests();
  begin_interval();
}

void checked_warp_barrier(int any_thread_of_the_warp, unsigned mask) { warps[any_thread_of_the_warp / 32].meet(mask); }

void checked_access(uintptr_t address, unsigned bytes, bool write, void* program_counter) {
  const InChecker guard;
  see(address, bytes, write ? Kind::write : Kind::read, site_of(program_counter));
}

void checked_atomic(uintptr_t address, unsigned bytes, void* program_counter) {
  const InChecker guard;
  see(address, bytes, Kind::atomic, site_of(program_counter));
  block_order.atomic(unsigned(thread_index()), address);
}

// A tick passes for the calling lane, which parts what it did before from what it does after.
void checked_fence() {
  const InChecker guard;
  const unsigned thread = unsigned(thread_index());
  WarpOrder& warp = warps[thread / 32];
  warp.meet(1u << thread % 32);
  block_order.fence(thread, interval, warp.tick);
}

void checked_copy_begins(uintptr_t destination, uintptr_t source, unsigned bytes, unsigned bytes_read,
                         void* program_counter) {
  const InChecker guard;
  const uint32_t site = site_of(program_counter);
  if (bytes_read) see(source, bytes_read, Kind::read, site);
  see(destination, bytes, Kind::copy, site);
}

void checked_copy_ends(uintptr_t destination, unsigned bytes) {
  const InChecker guard;
  Region* region = counting() ? nullptr : region_at(destination, 0);
  if (!region) return;
  Access now = access_now(Kind::write, 0);
  for (size_t at = destination - region->begin; at < destination - region->begin + bytes; at += region->granule) {
    Access& copy = region->cells[at / region->granule].write;
    now.site = copy.site;  // of the copy's begin
    copy = now;
  }
}

}  // namespace rungs::emulator
