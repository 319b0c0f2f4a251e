/// What the threads of a block do together: barriers, fences, dynamic shared memory.
#pragma once

#include <atomic>
#include <cstddef>

#include "kernels/emulator/language/vector_types.hpp"

namespace rungs::emulator {

/// Where in a kernel's source a thread calls an operation that others must join.
struct Site {
  const char* file;
  int line;
  /// As a default argument: the line of the call.
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

/// Waits for all threads of the block. \returns how many of them voted yes.
int barrier(const char* operation, bool vote, Site site);

/// The calling thread has waited for the kernels before this one, which here have ended when it begins.
void wait_for_earlier_kernels();

/// The block's dynamic shared memory. Fails when the launch gave none.
void* dynamic_shared();

#ifdef RUNGS_CHECKED
void checked_fence();
#else
inline void checked_fence() {}
#endif

}  // namespace rungs::emulator

inline void __syncthreads(rungs::emulator::Site site = rungs::emulator::Site::here()) {
  rungs::emulator::barrier("__syncthreads()", false, site);
}
inline int __syncthreads_count(int yes, rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::barrier("__syncthreads_count()", yes != 0, site);
}
inline int __syncthreads_or(int yes, rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::barrier("__syncthreads_or()", yes != 0, site) != 0;
}
inline int __syncthreads_and(int yes, rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::barrier("__syncthreads_and()", yes == 0, site) == 0;
}

/// Programmatic dependent launch. Kernels run one after the other here, so neither does anything; but whether each
/// thread waits is noted.
inline void cudaGridDependencySynchronize() { rungs::emulator::wait_for_earlier_kernels(); }
inline void cudaTriggerProgrammaticLaunchCompletion() {}

inline void __threadfence_block() {}  // the threads of a block share one OS thread
inline void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  rungs::emulator::checked_fence();
}
inline void __threadfence_system() { __threadfence(); }
