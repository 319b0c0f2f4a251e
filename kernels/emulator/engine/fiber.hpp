/// A fiber is a stack and the place where its execution stopped. One OS thread runs many, one at a time, and says
/// itself when it goes from one to another: that is what makes a thousand CUDA threads on a CPU core cheap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/emulator/language/qualifiers.hpp"

#ifdef RUNGS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

/// Saves the registers that a call must keep on this stack and its pointer in *from; goes on where `to` was saved.
extern "C" void rungs_switch_stack(void** from, void* to);

namespace rungs::emulator {

class Fiber {
 public:
  /// The stack of the OS thread itself.
  Fiber() = default;
  /// A stack of its own; the first switch to it calls `entry`, which must not return.
  explicit Fiber(void (*entry)(), int number);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Leaves this fiber, which is running, and goes on in `to`. Inlined always: each further return after a switch is
  /// one that the processor predicts wrongly.
  __forceinline__ void switch_to(Fiber& to) {
#ifdef RUNGS_ASAN
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, to.low_, to.size_);
    rungs_switch_stack(&stopped_at_, to.stopped_at_);
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#else
    rungs_switch_stack(&stopped_at_, to.stopped_at_);
#endif
  }
  /// To be called first in `entry`. AddressSanitizer says where the stack that it came from is, which the very first
  /// time is the OS thread's.
  static void entered([[maybe_unused]] Fiber& from) {
#ifdef RUNGS_ASAN
    const void* low = nullptr;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(nullptr, &low, &size);
    if (!from.low_) {
      from.low_ = static_cast<char*>(const_cast<void*>(low));
      from.size_ = size;
    }
#endif
  }
  /// Forgets what was on the stack; the next switch to it calls `entry` again.
  void restart();

  bool contains(uintptr_t address) const { return address - uintptr_t(low_) < size_; }
  bool overflowed_at(uintptr_t address) const { return uintptr_t(low_) - address <= guard_bytes; }
  char* top() const { return low_ + size_; }
  const void* stopped_at() const { return stopped_at_; }

 private:
  // Below the stack, so that an overflow faults: at least the 64 KB that compilers for aarch64 never step over, and one
  // page of 4 KB more, or stacks would be a power of two apart.
  static constexpr size_t guard_bytes = 68 << 10;
  void* stopped_at_ = nullptr;  // the stack pointer
  char* low_ = nullptr;
  size_t size_ = 0;
  void (*entry_)() = nullptr;
  int number_ = 0;
};

}  // namespace rungs::emulator
