// The program that runs the kernels' tests on a GPU ends here where there is none.
#include <cstdio>
#include <cstdlib>

#include "kernels/device.hpp"
#include "rungs/base/error.hpp"

namespace {

/// Looks before main does.
const struct NeedsGpu {
  NeedsGpu() try { rungs::require_cuda_device(); } catch (const rungs::UsageError& e) {
    std::printf("SKIPPED: %s\n", e.what());
    std::exit(77);
  }
} needs_gpu;

}  // namespace
