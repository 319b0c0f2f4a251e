/// Atomic operations: real ones, for blocks run on several OS threads.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/emulator/language/qualifiers.hpp"

#ifdef RUNGS_CHECKED
namespace rungs::emulator {
void checked_atomic(uintptr_t address, unsigned bytes, void* program_counter);
}
// Out of line, so that the return address is the kernel's line.
#define RUNGS_ATOMIC RUNGS_UNSEEN __attribute__((noinline))
#define RUNGS_TELL_CHECKER(p) rungs::emulator::checked_atomic(uintptr_t(p), sizeof *(p), __builtin_return_address(0))
#else
#define RUNGS_ATOMIC RUNGS_UNSEEN __forceinline__
#define RUNGS_TELL_CHECKER(p) void()
#endif

namespace rungs::emulator {

/// Replaces *p by change(*p) in one step. \returns the old value.
template <class T, class Change>
RUNGS_UNSEEN __forceinline__ T update(T* p, Change change) {
  T old, wanted;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  do {
    wanted = change(old);
  } while (!__atomic_compare_exchange(p, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

}  // namespace rungs::emulator

#define RUNGS_ATOMIC_OPERATION(name, new_value)                                                           \
  template <class T>                                                                                      \
  RUNGS_ATOMIC T name(T* p, std::type_identity_t<T> v) {                                                  \
    RUNGS_TELL_CHECKER(p);                                                                                \
    return rungs::emulator::update(p, [v]([[maybe_unused]] T old) RUNGS_UNSEEN { return T(new_value); }); \
  }
RUNGS_ATOMIC_OPERATION(atomicAdd, old + v)
RUNGS_ATOMIC_OPERATION(atomicSub, old - v)
RUNGS_ATOMIC_OPERATION(atomicMax, old < v ? v : old)
RUNGS_ATOMIC_OPERATION(atomicMin, v < old ? v : old)
RUNGS_ATOMIC_OPERATION(atomicAnd, old& v)
RUNGS_ATOMIC_OPERATION(atomicOr, old | v)
RUNGS_ATOMIC_OPERATION(atomicXor, old ^ v)
RUNGS_ATOMIC_OPERATION(atomicExch, v)
RUNGS_ATOMIC_OPERATION(atomicInc, old >= v ? 0 : old + 1)
RUNGS_ATOMIC_OPERATION(atomicDec, old == 0 || old > v ? v : old - 1)

template <class T>
RUNGS_ATOMIC T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  RUNGS_TELL_CHECKER(p);
  __atomic_compare_exchange(p, &expected, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

#undef RUNGS_ATOMIC_OPERATION
#undef RUNGS_ATOMIC
#undef RUNGS_TELL_CHECKER
