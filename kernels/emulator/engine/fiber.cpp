#include "kernels/emulator/engine/fiber.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

#ifdef RUNGS_ASAN
#include <sanitizer/asan_interface.h>
#endif

// What the calling convention lets a function destroy is already saved around a call, so only the rest is. The floating
// point control words stay as they are: nobody changes them.
#if defined(__x86_64__)
asm(R"(
.text
.globl rungs_switch_stack
.type rungs_switch_stack, @function
rungs_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rungs_switch_stack, .-rungs_switch_stack
)");
static constexpr size_t saved_words = 16, entry_word = 6;  // entry: popped as the return address, above it zeros
#elif defined(__aarch64__)
asm(R"(
.text
.globl rungs_switch_stack
.type rungs_switch_stack, %function
rungs_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  br x30
.size rungs_switch_stack, .-rungs_switch_stack
)");
static constexpr size_t saved_words = 32, entry_word = 11;  // entry: x30
#else
#error "rungs_switch_stack is written for x86-64 and aarch64"
#endif

namespace rungs::emulator {

#ifdef RUNGS_ASAN
static constexpr size_t stack_bytes = 256 << 10;  // red zones make frames larger
#else
static constexpr size_t stack_bytes = 64 << 10;
#endif

Fiber::Fiber(void (*entry)(), int number) : size_(stack_bytes), entry_(entry), number_(number) {
  void* memory = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, guard_bytes, PROT_NONE);
  low_ = static_cast<char*>(memory) + guard_bytes;
  restart();
}

Fiber::~Fiber() {
  if (!entry_) return;
#ifdef RUNGS_ASAN
  __asan_unpoison_memory_region(low_, size_);  // what is mapped here next is no stack
#endif
  munmap(low_ - guard_bytes, guard_bytes + size_);
}

void Fiber::restart() {
#ifdef RUNGS_ASAN
  __asan_unpoison_memory_region(low_, size_);
#endif
  // Equal stacks a power of two apart would all put their busiest lines into the same few sets of the cache.
  const size_t stagger = size_t(number_ * 5 % 61) * 64;
  void** frame = reinterpret_cast<void**>(top() - stagger) - saved_words;
  std::memset(frame, 0, saved_words * sizeof(void*));
  frame[entry_word] = reinterpret_cast<void*>(entry_);
  stopped_at_ = frame;
}

}  // namespace rungs::emulator
