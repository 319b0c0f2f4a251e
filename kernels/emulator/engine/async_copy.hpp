/// Asynchronous copies from global to shared memory. A copy happens when its thread waits for it and not before, so
/// that a forgotten wait reads what was there: poison.
#pragma once

#include <cstddef>

#include "kernels/emulator/language/qualifiers.hpp"

namespace rungs::emulator {

/// Notes a copy of `bytes` (4, 8 or 16, both sides aligned to it) in the calling thread's open group; from the first
/// `valid` bytes on, the destination becomes zero.
void async_copy(void* destination, const void* source, size_t bytes, size_t valid);
void async_commit();                 ///< closes the group
void async_wait(unsigned may_stay);  ///< carries out all closed groups but the youngest `may_stay`

}  // namespace rungs::emulator
