/// How much memory this process takes, and took at most: what the kernel counts, mapped files included once a page of
/// them was read.
#pragma once

#include <cstdint>
#include <optional>

namespace rungs {

/// Bytes in memory now. Nothing where the kernel does not say.
std::optional<int64_t> resident_memory();

/// The most bytes that were in memory at once since the last reset_peak_memory, or since the process began.
std::optional<int64_t> peak_memory();

/// Lets peak_memory begin anew with what is in memory now. Memory that was freed goes back to the system first, so that
/// it does not hide what is allocated next. Returns false where the kernel does not allow it.
bool reset_peak_memory();

/// Bytes that all programs of this machine together could still take. Nothing where the kernel does not say.
std::optional<int64_t> available_memory();

}  // namespace rungs
