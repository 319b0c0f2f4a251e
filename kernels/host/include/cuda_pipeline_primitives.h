/// The host compiler's cuda_pipeline_primitives.h.
#pragma once

#include "host/async_copy.hpp"

inline void __pipeline_memcpy_async(void* destination, const void* source, size_t bytes, size_t zero_fill = 0) {
  rungs::host::async_copy(destination, source, bytes, bytes - zero_fill);
}
inline void __pipeline_commit() { rungs::host::async_commit(); }
inline void __pipeline_wait_prior(size_t may_stay) { rungs::host::async_wait(unsigned(may_stay)); }
