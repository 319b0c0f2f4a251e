// Branches, barriers, and what the lanes of a warp exchange.
#include <fmt/format.h>

#include "fault.hpp"
#include "table.hpp"

namespace rungs::ptx {
namespace {

enum class Shuffle { up, down, butterfly, index };

/// shfl.sync d|p, a, b, c, mask: slots d, p, a, b, c, mask. c holds the clamp and, eight bits higher, the mask of
/// segments.
template <Shuffle how>
void shuffle(Thread* lanes, u32 taking_part, const Instruction& i) {
  u32 given[32] = {};
  for (u32 lane = 0; lane < 32; ++lane)
    if (taking_part >> lane & 1) given[lane] = get<u32>(lanes[lane], i.slot[2]);
  for (u32 lane = 0; lane < 32; ++lane) {
    if (!(taking_part >> lane & 1)) continue;
    const u32 b = get<u32>(lanes[lane], i.slot[3]) & 31, c = get<u32>(lanes[lane], i.slot[4]);
    const u32 clamp = c & 31, segments = c >> 8 & 31;
    const s32 last = s32((lane & segments) | (clamp & ~segments)), first = s32(lane & segments);
    s32 from = 0;
    if (how == Shuffle::up) from = s32(lane) - s32(b);
    if (how == Shuffle::down) from = s32(lane + b);
    if (how == Shuffle::butterfly) from = s32(lane ^ b);
    if (how == Shuffle::index) from = first | s32(b & ~segments);
    const bool inside = how == Shuffle::up ? from >= last : from <= last;
    if (!inside) from = s32(lane);
    if (!(taking_part >> from & 1)) throw Fault(fmt::format("lane {} reads lane {}, which takes no part", lane, from));
    set<u32>(lanes[lane], i.slot[0], given[from]);
    set<bool>(lanes[lane], i.slot[1], inside);
  }
}

}  // namespace

void add_control(Table& t) {
  t["bra"] = t["bra.uni"] = {"9.7.12.3", Flow::branch};
  t["ret"] = {"9.7.12.6", Flow::exit};
  t["exit"] = {"9.7.12.7", Flow::exit};
  t["bar.sync"] = {"9.7.13.1", Flow::block_barrier};
  // The kernels before this one have ended when it begins. What it does before it waits is a fault where it could not
  // know that: memory.cpp, run.cpp.
  t["griddepcontrol.wait"] = {"9.7.13.13", Flow::next,
                              [](Thread& thread, const Instruction&) { thread.waited = true; }};
  t["griddepcontrol.launch_dependents"] = {"9.7.13.13", Flow::next, [](Thread&, const Instruction&) {}};
  t["bar.warp.sync"] = {"9.7.13.2", Flow::warp, nullptr, [](Thread*, u32, const Instruction&) {}};
  t["shfl.sync.up.b32"] = {"9.7.9.6", Flow::warp, nullptr, shuffle<Shuffle::up>};
  t["shfl.sync.down.b32"] = {"9.7.9.6", Flow::warp, nullptr, shuffle<Shuffle::down>};
  t["shfl.sync.bfly.b32"] = {"9.7.9.6", Flow::warp, nullptr, shuffle<Shuffle::butterfly>};
  t["shfl.sync.idx.b32"] = {"9.7.9.6", Flow::warp, nullptr, shuffle<Shuffle::index>};
}

const Known& known(const std::string& opcode) {
  static const Table table = [] {
    Table all;
    add_arithmetic(all);
    add_conversions(all);
    add_data_movement(all);
    add_control(all);
    add_tensor_cores(all);
    add_hopper(all);
    return all;
  }();
  const auto found = table.find(opcode);
  if (found == table.end()) throw Fault(fmt::format("unknown instruction: {}", opcode));
  return found->second;
}

}  // namespace rungs::ptx
