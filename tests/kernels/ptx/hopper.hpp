/// What a block keeps of the instructions that only compute capability 9.0 has: barriers that count bytes, boxes that
/// the copy engine brings, and products of warp groups that end later.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "thread.hpp"

namespace rungs::ptx {

/// An mbarrier. Its phase ends when all have arrived and all expected bytes have; then the next begins.
struct CountingBarrier {
  u32 arrivals = 0;  ///< that it was made for
  s64 pending = 0;   ///< arrivals that are still to come
  s64 bytes = 0;     ///< that are expected and have not come
  u32 phase = 0;
};

/// A box on its way to shared memory.
struct BoxCopy {
  u32 to, barrier;
  u64 map;
  s32 begin[5];
  u32 rank;
};

/// sum += a · b of a warp group, from matrices in shared memory.
struct Product {
  Thread* threads;
  const Instruction* instruction;
  u64 a, b;  ///< descriptors
  bool add;
};

struct Hopper {
  std::map<u32, CountingBarrier> barriers;  ///< by their shared address
  std::deque<BoxCopy> copies;
  std::map<const Thread*, std::vector<std::vector<Product>>> groups;  ///< of each warp group, the last one still open
};

/// Carries out the copy that began first. False where there is none.
bool copy_one_box(Block& block);

/// Whether the phase that this thread waits for (mbarrier.try_wait) has ended.
bool phase_has_ended(const Thread& thread, const Instruction& instruction);

}  // namespace rungs::ptx
