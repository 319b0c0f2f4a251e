/// What launchers ask the device: how large it is, and what a block may have.
#pragma once

#include <cuda_runtime.h>

namespace rungs {

/// Of the current device. \throws CudaError
int attribute_of_device(cudaDeviceAttr attribute);

}  // namespace rungs
