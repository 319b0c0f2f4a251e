/// The host compiler's cuda_pipeline_primitives.h.
#pragma once

#include "kernels/emulator/engine/async_copy.hpp"

inline void __pipeline_memcpy_async(void* destination, const void* source, size_t bytes, size_t zero_fill = 0) {
  rungs::emulator::async_copy(destination, source, bytes, bytes - zero_fill);
}
inline void __pipeline_commit() { rungs::emulator::async_commit(); }
inline void __pipeline_wait_prior(size_t may_stay) { rungs::emulator::async_wait(unsigned(may_stay)); }
