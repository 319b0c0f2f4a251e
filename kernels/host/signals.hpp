/// What the operating system sees and the engine cannot: a bad address, and a kernel that never ends.
#pragma once

namespace rungs::host {

/// Called by an OS thread before it runs blocks: from now on its faults become CudaErrors, and so does a block that
/// runs for more than RUNGS_KERNEL_SECONDS (20 when it is not set) of the processor's time.
void watch_this_thread();

}  // namespace rungs::host
