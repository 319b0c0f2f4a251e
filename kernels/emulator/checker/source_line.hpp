/// From a place in the program's code to the line of the kernel that it was compiled from.
#pragma once

#include <cstdint>
#include <string>

#include "rungs/base/code_line.hpp"

namespace rungs::emulator {

/// The address in the program's file of the instruction before `program_counter`, a return address: small, and the same
/// in every run. 0: unknown.
inline uint32_t site_of(const void* program_counter);

/// The line at `site`. Asks addr2line, once for each site.
const CodeLine& source_line(uint32_t site);

/// "matmul/03_tile.cu:31", or what stands for it where addr2line cannot be asked.
std::string source_text(uint32_t site);

extern const uintptr_t program_begin;  ///< how far the program lies in memory from the addresses in its file

inline uint32_t site_of(const void* program_counter) {
  const uintptr_t offset = uintptr_t(program_counter) - program_begin - 1;
  return program_counter && offset <= UINT32_MAX ? uint32_t(offset) : 0;
}

}  // namespace rungs::emulator
