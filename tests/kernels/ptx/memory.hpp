/// Memory that a kernel may touch: device memory by known allocations, shared memory and parameters by their sizes.
#pragma once

#include "thread.hpp"

namespace rungs::ptx {

enum class Space { generic, global, shared, parameter };

/// `bytes` of device memory, full of NaN (0xff); nullptr where so much is not to be had.
void* allocate(size_t bytes);
/// \throws Fault for an address that allocate did not give.
void free(void* memory);
/// What allocate has not given yet.
size_t free_bytes();
inline constexpr size_t device_bytes = size_t(16) << 30;

/// Where the executor keeps `bytes` at an address. \throws Fault when they lie outside, or not at a multiple of
/// `bytes`.
u8* find(const Thread& thread, Space space, u64 address, size_t bytes);
/// The same for bytes that are written. \throws Fault also for device memory before griddepcontrol.wait.
u8* find_to_write(const Thread& thread, Space space, u64 address, size_t bytes);

}  // namespace rungs::ptx
