/// A launch: its blocks one after the other, the threads of a block each with its own place in the program.
#pragma once

#include "thread.hpp"

namespace rungs::ptx {

struct Dim {
  u32 x = 1, y = 1, z = 1;
};

/// Fresh shared memory is full of NaN (0xff). `parameters`: as many bytes as the kernel has. \throws Fault naming
/// block, thread and instruction. `overlap`: the kernels before it may still run, so that every thread must wait for
/// them before it writes (griddepcontrol.wait).
void run(const Code& code, Dim grid, Dim block, size_t dynamic_shared, const void* parameters, bool overlap = false);

}  // namespace rungs::ptx
