/// What launchers ask the device: whether there is one, how large it is, and what a block may have.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace rungs {

struct LaunchShape;

/// \throws UsageError, saying how to run without, when no GPU can be used by this program. Every call that fails for
/// want of a GPU or of a driver (CUDA_CHECK, launch) throws the same.
void require_cuda_device();

/// Why it cannot: for CUDA `runtime`, with a driver for CUDA `driver` (13020 is 13.2; 0: there is none), after an error
/// in these words.
std::string why_no_device(int driver, int runtime, const char* error);

/// The limit of a device, or of a kernel there, that a launch breaks, with what was wanted; empty when it breaks none.
std::string broken_limit(const cudaDeviceProp& device, const cudaFuncAttributes& kernel, const LaunchShape& shape);

}  // namespace rungs
