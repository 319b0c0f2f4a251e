/// What runs: threads with their registers, in a block with its shared memory, on instructions that were decoded once.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace rungs::ptx {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f32 = float;
using f64 = double;

struct Thread;
struct Instruction;

/// What a thread does on its own; and what the lanes of a warp do together, which are given as one bit each, or the 128
/// threads of a warp group.
using Alone = void (*)(Thread&, const Instruction&);
using Together = void (*)(Thread* lanes, u32 taking_part, const Instruction&);

/// What happens after an instruction, or whom it waits for: the threads of the block, the lanes of its warp, those of a
/// group of four warps, or the end of an mbarrier's phase.
enum class Flow : u8 { next, branch, exit, block_barrier, warp, warp_group, phase };

/// An instruction whose operands are slots: places in the thread's array of registers and constants, in the order of
/// the text, those in braces one after the other.
struct Instruction {
  Alone alone = nullptr;  ///< where the flow is `next`
  const u32* slot = nullptr;
  std::array<s64, 2> offset{};  ///< of its addresses, in bytes
  union {
    Together together = nullptr;  ///< where it is `warp` or `warp_group`
    u64 target;                   ///< of a branch
  };
  u32 guard = 0;  ///< runs where this slot is `guard_is`, if it is `guarded`
  Flow flow = Flow::next;
  bool guarded = false, guard_is = true;
  bool masked = false;  ///< its last operand says which lanes take part
  u32 slots = 0;
};

/// A kernel that is ready to run.
struct Code {
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<const char*> texts;  ///< of each, for messages; the function keeps them
  std::vector<u32> slots;          ///< what Instruction::slot points to
  std::vector<u64> initial;        ///< every slot before the first instruction: constants, and garbage in registers
  struct Special {
    u32 slot, which;  ///< an index of special_registers
  };
  std::vector<Special> specials;
  size_t max_threads = 1024, parameter_bytes = 0;
  size_t shared_end = 0;  ///< of its static shared memory, as an address; dynamic shared memory follows
};

/// What threads are told of themselves (PTX ISA 9.0, chapter 10).
inline constexpr const char* special_registers[] = {"%tid.x",    "%tid.y",    "%tid.z",   "%ntid.x",  "%ntid.y",
                                                    "%ntid.z",   "%ctaid.x",  "%ctaid.y", "%ctaid.z", "%nctaid.x",
                                                    "%nctaid.y", "%nctaid.z", "%laneid",  "%warpid"};

/// Shared memory begins here and not at 0, so that an address that was never set is outside.
inline constexpr u64 shared_begin = 1024;

/// A copy to shared memory that has begun.
struct Copy {
  u64 to, from;
  u32 bytes, read;  ///< the last bytes - read become zeros
};

struct Block;
struct Hopper;

struct Thread {
  enum State : u8 { running, at_barrier, at_warp, at_warp_group, at_phase, exited };
  u64* registers = nullptr;
  Block* block = nullptr;
  u32 next = 0;  ///< the number of its next instruction
  State state = running;
  bool waited = true;  ///< for the kernels before its own, where these may still run
  u32 index = 0, lane = 0;
  std::vector<std::vector<Copy>> groups;  ///< closed groups of copies that it has not waited for, oldest first
  std::vector<Copy> open;                 ///< the group that is not closed yet
};

struct Block {
  const Code* code = nullptr;
  u8* shared = nullptr;  ///< address shared_begin lies at shared[shared_begin]
  size_t shared_end = 0;
  u8* parameters = nullptr;
  std::vector<Thread> threads;
  Hopper* hopper = nullptr;  ///< hopper.hpp
};

/// The value in a slot. A predicate is its lowest bit.
template <class T>
T get(const Thread& thread, u32 slot) {
  if constexpr (std::is_same_v<T, bool>) {
    return thread.registers[slot] & 1;
  } else {
    T value;
    std::memcpy(&value, &thread.registers[slot], sizeof value);
    return value;
  }
}

/// Signed numbers are extended by their sign, all others by zeros: a load may be narrower than its register.
template <class T>
void set(Thread& thread, u32 slot, T value) {
  if constexpr (std::is_integral_v<T>) {
    thread.registers[slot] = u64(value);
  } else {
    u64 bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    thread.registers[slot] = bits;
  }
}

}  // namespace rungs::ptx
