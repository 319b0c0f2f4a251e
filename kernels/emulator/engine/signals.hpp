/// What the operating system sees and the engine cannot: a bad address, and a kernel that never ends. Both come as
/// signals, while the kernel's own code is running: nothing of the engine or of the C library is half done then, so the
/// kernel can simply be left. The handler changes where the thread goes on: in a function that fails, on the fiber's
/// stack.
#pragma once

namespace rungs::emulator {

/// For each launch: a bad address in a kernel becomes a CudaError from now on. Where the host's code touches device
/// memory, the program ends after a sentence.
void take_fault_signals();

/// RUNGS_KERNEL_SECONDS, 20 when it is not set. \throws CudaError when it is no number above 0.
double seconds_allowed();

/// For each launch, in every OS thread that runs blocks: a block that takes more than so much of the processor's time
/// ends with a CudaError.
void watch_time(double seconds);

}  // namespace rungs::emulator
