#include "kernels/emulator/checker/fault_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "kernels/emulator/checker/source_line.hpp"
#include "kernels/emulator/engine/engine.hpp"

namespace rungs::emulator {

namespace {

const char* verb(Kind kind, bool past) {
  switch (kind) {
    case Kind::read:
      return past ? "read" : "reads";
    case Kind::write:
      return past ? "wrote" : "writes";
    case Kind::atomic:
      return past ? "changed (atomically)" : "changes (atomically)";
    case Kind::copy:
      return past ? "began to copy into" : "begins to copy into";
  }
  return "";
}

std::string bytes_of(const Region& region, size_t offset, unsigned bytes) {
  if (bytes == 1) return fmt::format("byte {} of {}", offset, region.name);
  return fmt::format("bytes {} to {} of {}", offset, offset + bytes - 1, region.name);
}

}  // namespace

std::string race_text(const Region& region, size_t offset, const Access& before, const Access& now, unsigned rivals,
                      const std::string& other_block) {
  const unsigned lane = rivals >> before.lane & 1 ? before.lane : unsigned(__builtin_ctz(rivals));
  std::string text = fmt::format(
      "race: this thread {} {} at {}, and {}{} {} it at {}", verb(now.kind, false),
      bytes_of(region, offset, region.granule), source_text(now.site), other_block.empty() ? "" : other_block + ", ",
      thread_name(int(before.warp * 32 + lane)), verb(before.kind, true), source_text(before.site));
  if (!other_block.empty()) {
    text +=
        " in the same launch. Blocks run in any order, or at once: give each its own memory, use atomics for both, "
        "or launch twice";
  } else if (before.warp == now.warp) {
    text += ". Nothing orders the two: a __syncwarp() or __syncthreads() is missing between them";
  } else {
    text += ". Nothing orders the two: a __syncthreads() is missing between them";
  }
  if (other_block.empty() && before.kind == Kind::write && now.kind == Kind::write)
    text += ", or an index is wrong and they should not write the same place";
  if ((before.kind == Kind::atomic) != (now.kind == Kind::atomic)) text += ". Only one of the two is atomic";
  return text;
}

std::string in_flight_text(const Region& region, size_t offset, const Access& before, const Access& now) {
  return fmt::format(
      "an asynchronous copy is not waited for: this thread {} {} at {}, and {} began to copy into it at {}. The thread "
      "that copies must wait for it (cp_async_wait, __pipeline_wait_prior), and then all at a barrier",
      verb(now.kind, false), bytes_of(region, offset, region.granule), source_text(now.site),
      thread_name(int(before.warp * 32 + before.lane)), source_text(before.site));
}

std::string unwritten_text(const HeldRead& read) {
  return fmt::format("uninitialised {} memory: this thread reads {} at {}, and {} has written it",
                     read.region->shared ? "shared" : "device", bytes_of(*read.region, read.offset, read.bytes),
                     source_text(read.site),
                     read.region->shared ? "no thread of the block" : "neither a kernel nor a copy");
}

std::string early_text(const Region& region, size_t offset, unsigned bytes, Kind kind, uint32_t site,
                       const Access* earlier) {
  return fmt::format(
      "too early: this thread {} {} at {} before it waited for the kernels before it{}", verb(kind, false),
      bytes_of(region, offset, bytes), source_text(site),
      earlier ? fmt::format(", one of which {} it at {}", verb(earlier->kind, true), source_text(earlier->site)) : "");
}

std::string overrun_text(const Region& region, unsigned bytes, Kind kind, uint32_t site) {
  return fmt::format("out of bounds: this thread {} {} bytes at {}, which run over the end of {}", verb(kind, false),
                     bytes, source_text(site), region.name);
}

std::string stray_text(uintptr_t address, unsigned bytes, Kind kind, uint32_t site, const FreedMemory& freed) {
  const std::string act = fmt::format("this thread {} {} bytes at {}", verb(kind, false), bytes, source_text(site));
  if (address < 4096) return "null pointer: " + act;
  if (on_any_stack(address)) {
    return "local memory of another thread: " + act +
           ". Local variables are their thread's own; share in __shared__ memory";
  }
  if (const Region* region = region_near(address)) {
    const bool before = address < region->begin;
    return fmt::format("out of bounds: {}, {} bytes {} of {}", act,
                       before ? region->begin - address : address - region->begin - region->bytes,
                       before ? "before the begin" : "after the end", region->name);
  }
  const auto next = freed.upper_bound(address);
  if (next != freed.begin() && address - std::prev(next)->first < std::prev(next)->second) {
    const auto& [begin, size] = *std::prev(next);
    return fmt::format(
        "freed memory: {}, at byte {} of what was an allocation of {} bytes before it was given to cudaFree", act,
        address - begin, size);
  }
  return "not device memory: " + act + ". A pointer to host memory, or an index far out of bounds";
}

}  // namespace rungs::emulator
