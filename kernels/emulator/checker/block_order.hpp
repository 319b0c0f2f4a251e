/// What the checker knows of the order between blocks of a launch: none, but where fences and an atomic make one.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kernels/emulator/checker/shadow.hpp"

namespace rungs::emulator {

/// The pattern of "the last block": a block writes and meets at __syncthreads; a thread calls __threadfence and then an
/// atomic. A thread of another block comes to the same address with an atomic of its own later, calls __threadfence,
/// and its block meets. PTX ISA 9.0, section 8.8: a release pattern that synchronizes with an acquire pattern. What a
/// thread did itself before its fence, or does after it, needs no __syncthreads.
///
/// In a checked build blocks run one after the other, so that all of another block's accesses are known here.
class BlockOrder {
 public:
  void begin_launch() { published_.clear(); }
  void begin_block(uint32_t interval) {
    first_ = interval;
    for (auto* list : {&fenced_, &seen_, &ordered_}) list->clear();
  }

  /// `thread` calls __threadfence, in this interval and at this tick of its warp.
  void fence(unsigned thread, uint32_t interval, uint32_t tick) {
    // From here on it may read what it has seen published; from the next barrier on the block may.
    for (const Known& known : seen_)
      if (known.thread == thread) ordered_.push_back({known.work, thread, interval});
    std::erase_if(seen_, [&](const Known& known) { return known.thread == thread; });
    // And what it does next tells of all that came before.
    std::erase_if(fenced_, [&](const Known& known) { return known.thread == thread; });
    fenced_.push_back({{first_, interval, thread, tick}, thread, interval});
    for (const Known& known : ordered_)
      if (known.holds_for(thread, interval)) fenced_.push_back({known.work, thread, interval});
  }

  /// `thread` calls an atomic on an address of device memory.
  void atomic(unsigned thread, uintptr_t address) {
    if (published_.empty() && fenced_.empty()) return;
    if (const auto at = published_.find(address); at != published_.end())
      for (const Work& work : at->second) seen_.push_back({work, thread, 0});
    for (const Known& known : fenced_)
      if (known.thread == thread) published_[address].push_back(known.work);
  }

  /// Whether an access of another block comes before what `thread` does now.
  bool before(const Access& access, unsigned thread, uint32_t interval) const {
    for (const Known& known : ordered_)
      if (known.work.has(access) && known.holds_for(thread, interval)) return true;
    return false;
  }

 private:
  /// Accesses of a block before a fence: those of its intervals before `end`, and in that of one thread before a tick.
  struct Work {
    uint32_t begin, end;
    unsigned thread;
    uint32_t tick;
    bool has(const Access& access) const {
      if (access.interval == end)
        return access.warp == thread / 32 && access.lanes == 1u << thread % 32 && access.tick < tick;
      return access.interval >= begin && access.interval < end;
    }
  };
  struct Known {
    Work work;
    unsigned thread;    ///< that knows of it
    uint32_t interval;  ///< since when
    bool holds_for(unsigned other, uint32_t now) const { return other == thread || now > interval; }
  };

  uint32_t first_ = 0;
  std::map<uintptr_t, std::vector<Work>> published_;  // by this launch's blocks, at the address of an atomic
  std::vector<Known> fenced_, seen_, ordered_;        // of the running block
};

}  // namespace rungs::emulator
