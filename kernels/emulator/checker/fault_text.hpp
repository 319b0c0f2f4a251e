/// The sentences of the checker: what a thread did, where, and what is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "kernels/emulator/checker/shadow.hpp"

namespace rungs::emulator {

/// What was device memory, until it is again: bytes, by the first address.
using FreedMemory = std::map<uintptr_t, size_t>;

/// A read of what nobody had written; the first since the last barrier.
struct HeldRead {
  const Region* region;
  size_t offset;
  unsigned bytes;
  uint32_t site;
  int thread;
};

/// `rivals`: the lanes of `before` that race; other_block: "block (1,0,0)" where `before` was another block's, else "".
std::string race_text(const Region& region, size_t offset, const Access& before, const Access& now, unsigned rivals,
                      const std::string& other_block);
/// `before` began an asynchronous copy that nobody has waited for.
std::string in_flight_text(const Region& region, size_t offset, const Access& before, const Access& now);
std::string unwritten_text(const HeldRead& read);
/// `earlier`: what a kernel that may still run did there, or null.
std::string early_text(const Region& region, size_t offset, unsigned bytes, Kind kind, uint32_t site,
                       const Access* earlier);
std::string overrun_text(const Region& region, unsigned bytes, Kind kind, uint32_t site);
/// Explains an address that is in no memory which a kernel may touch.
std::string stray_text(uintptr_t address, unsigned bytes, Kind kind, uint32_t site, const FreedMemory& freed);

}  // namespace rungs::emulator
