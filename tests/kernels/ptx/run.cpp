#include "run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "fault.hpp"
#include "hopper.hpp"

namespace rungs::ptx {
namespace {

/// So many instructions without waiting for anybody are an endless loop.
constexpr u64 most_instructions = 100'000'000;

Thread::State state_at(Flow flow) {
  switch (flow) {
    case Flow::block_barrier:
      return Thread::at_barrier;
    case Flow::warp:
      return Thread::at_warp;
    case Flow::warp_group:
      return Thread::at_warp_group;
    case Flow::phase:
      return Thread::at_phase;
    default:
      return Thread::exited;
  }
}

/// Until it exits or waits.
void run_thread(Thread& thread, const Instruction* code) {
  u64 left = most_instructions;
  while (left-- > 0) {
    const Instruction& i = code[thread.next];
    if (i.guarded && get<bool>(thread, i.guard) != i.guard_is) {
      ++thread.next;
    } else if (i.alone) [[likely]] {
      i.alone(thread, i);
      ++thread.next;
    } else if (i.flow == Flow::branch) {
      thread.next = u32(i.target);
    } else {
      if (i.flow == Flow::exit && !thread.waited) throw Fault("a thread exits without griddepcontrol.wait");
      thread.state = state_at(i.flow);
      return;
    }
  }
  throw Fault("an endless loop");
}

/// Which lanes an instruction of the warp is for: shuffles and bar.warp.sync give a mask, .aligned ones are for all.
u32 mask_of(const Thread& thread, const Instruction& i) {
  return i.masked ? get<u32>(thread, i.slot[i.slots - 1]) : ~0u;
}

/// Whether the lanes that one of them waits for have all arrived at the same instruction; then they do it.
bool meet(Thread* lanes, u32 count, const Instruction* code) {
  for (u32 first = 0; first < count; ++first) {
    if (lanes[first].state != Thread::at_warp) continue;
    const Instruction& i = code[lanes[first].next];
    const u32 mask = mask_of(lanes[first], i);
    if (!(mask >> first & 1)) throw Fault(fmt::format("lane {} is not in its own mask {:#x}", first, mask));
    u32 taking_part = 0;
    bool all_here = true;
    for (u32 lane = 0; lane < count && all_here; ++lane) {
      const Thread& other = lanes[lane];
      if (!(mask >> lane & 1) || other.state == Thread::exited) continue;
      all_here = other.state == Thread::at_warp && other.next == lanes[first].next && mask_of(other, i) == mask;
      taking_part |= 1u << lane;
    }
    if (!all_here) continue;
    i.together(lanes, taking_part, i);
    for (u32 lane = 0; lane < count; ++lane)
      if (taking_part >> lane & 1) lanes[lane].state = Thread::running, ++lanes[lane].next;
    return true;
  }
  return false;
}

/// The same for the four warps of a group.
bool group_meets(Thread* threads, const Instruction* code) {
  for (u32 t = 0; t < 128; ++t)
    if (threads[t].state != Thread::at_warp_group || threads[t].next != threads[0].next) return false;
  const Instruction& i = code[threads[0].next];
  i.together(threads, ~0u, i);
  for (u32 t = 0; t < 128; ++t) threads[t].state = Thread::running, ++threads[t].next;
  return true;
}

/// Lets those go on whose phase of an mbarrier has ended: to them try_wait says that it has, to the others it says
/// nothing yet.
bool end_phases(Block& block, const Instruction* code) {
  bool moved = false;
  for (Thread& thread : block.threads) {
    if (thread.state != Thread::at_phase || !phase_has_ended(thread, code[thread.next])) continue;
    set<bool>(thread, code[thread.next].slot[0], true);
    thread.state = Thread::running, ++thread.next;
    moved = true;
  }
  return moved;
}

/// Lets those go on who wait at a barrier that all have reached. A warp comes to a barrier as one.
bool release_barrier(Block& block, const Instruction* code) {
  struct Barrier {
    u32 arrived = 0, wanted = 0;
  };
  std::map<u32, Barrier> barriers;
  const size_t exited = size_t(
      std::count_if(block.threads.begin(), block.threads.end(), [](auto& t) { return t.state == Thread::exited; }));
  const auto barrier_of = [&](const Thread& thread) { return get<u32>(thread, code[thread.next].slot[0]); };
  for (const Thread& thread : block.threads) {
    if (thread.state != Thread::at_barrier) continue;
    const Instruction& i = code[thread.next];
    Barrier& barrier = barriers[barrier_of(thread)];
    ++barrier.arrived;
    barrier.wanted = i.slots > 1 ? get<u32>(thread, i.slot[1]) : u32(block.threads.size());
  }
  for (const auto& [id, barrier] : barriers) {
    if (barrier.arrived + exited == barrier.wanted && exited > 0)
      throw Fault(fmt::format("{} threads have exited without the barrier that the others wait at", exited));
    if (barrier.arrived != barrier.wanted) continue;
    for (Thread& thread : block.threads) {
      const Thread& first = block.threads[thread.index / 32 * 32];
      if (thread.state != Thread::at_barrier || barrier_of(thread) != id) continue;
      if (thread.next != first.next) throw Fault("lanes of a warp wait at different barriers of the program");
    }
    for (Thread& thread : block.threads)
      if (thread.state == Thread::at_barrier && barrier_of(thread) == id) thread.state = Thread::running, ++thread.next;
    return true;
  }
  return false;
}

/// Runs a warp until each of its threads has exited, waits at a barrier or for a lane that does. Whether anybody moved.
bool run_warp(Thread* lanes, u32 count, const Instruction* code) {
  bool moved = false;
  do {
    for (u32 lane = 0; lane < count; ++lane)
      if (lanes[lane].state == Thread::running) run_thread(lanes[lane], code), moved = true;
  } while (meet(lanes, count, code));
  return moved;
}

/// \throws Fault when nobody can go on.
void run_block(Block& block, const Instruction* code) {
  const size_t threads = block.threads.size();
  for (;;) {
    bool moved = false;
    for (size_t first = 0; first < threads; first += 32)
      moved |= run_warp(&block.threads[first], u32(std::min<size_t>(32, threads - first)), code);
    for (size_t first = 0; first + 128 <= threads; first += 128) moved |= group_meets(&block.threads[first], code);
    if (moved || end_phases(block, code) || release_barrier(block, code) || copy_one_box(block)) continue;
    for (const Thread& thread : block.threads)
      if (thread.state != Thread::exited) throw Fault("deadlock");
    return;
  }
}

struct Free {
  void operator()(u8* memory) const { std::free(memory); }
};
using Bytes = std::unique_ptr<u8, Free>;

Bytes aligned_bytes(size_t bytes) {
  const size_t rounded = (bytes + 1024) / 1024 * 1024;
  Bytes memory(static_cast<u8*>(std::aligned_alloc(1024, rounded)));
  if (!memory) throw Fault("no memory for a block");
  std::memset(memory.get(), 0xff, rounded);
  return memory;
}

/// The first thread that the fault can be about: one that is in the middle of something.
std::string where(const Block& block, Dim at) {
  const Thread* stuck = nullptr;
  for (const Thread& thread : block.threads)
    if (!stuck || (stuck->state != Thread::running && thread.state == Thread::running) ||
        (stuck->state == Thread::exited && thread.state != Thread::exited))
      stuck = &thread;
  return fmt::format("{}, block ({},{},{}), thread {}: {}", block.code->name, at.x, at.y, at.z, stuck->index,
                     block.code->texts[stuck->next]);
}

}  // namespace

void run(const Code& code, Dim grid, Dim shape, size_t dynamic_shared, const void* parameters, bool overlap) {
  const u32 threads = shape.x * shape.y * shape.z;
  const size_t slots = code.initial.size();
  std::vector<u64> registers(slots * threads);
  Block block;
  block.code = &code;
  block.shared_end = code.shared_end + dynamic_shared;
  const Bytes shared = aligned_bytes(block.shared_end), copy = aligned_bytes(code.parameter_bytes);
  block.shared = shared.get();
  block.parameters = copy.get();
  std::memcpy(block.parameters, parameters, code.parameter_bytes);

  for (u32 z = 0; z < grid.z; ++z)
    for (u32 y = 0; y < grid.y; ++y)
      for (u32 x = 0; x < grid.x; ++x) {
        std::memset(block.shared, 0xff, block.shared_end);
        block.threads.assign(threads, {});
        Hopper hopper;
        block.hopper = &hopper;
        for (u32 t = 0; t < threads; ++t) {
          Thread& thread = block.threads[t];
          thread.registers = &registers[t * slots];
          thread.block = &block;
          thread.index = t, thread.lane = t % 32;
          thread.waited = !overlap;
          std::copy(code.initial.begin(), code.initial.end(), thread.registers);
          const u32 value[] = {t % shape.x,
                               t / shape.x % shape.y,
                               t / shape.x / shape.y,
                               shape.x,
                               shape.y,
                               shape.z,
                               x,
                               y,
                               z,
                               grid.x,
                               grid.y,
                               grid.z,
                               t % 32,
                               t / 32};
          static_assert(std::size(value) == std::size(special_registers));
          for (const Code::Special& special : code.specials) thread.registers[special.slot] = value[special.which];
        }
        try {
          run_block(block, code.instructions.data());
        } catch (const Fault& fault) {
          throw Fault(fmt::format("{} ({})", fault.what(), where(block, {x, y, z})));
        }
      }
}

}  // namespace rungs::ptx
