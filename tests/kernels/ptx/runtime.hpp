/// What the parts of the stand-in for the CUDA runtime share: launch.cpp, runtime.cpp and device.cpp.
#pragma once

#include <cuda_runtime.h>

#include <exception>
#include <functional>
#include <string>

#include "capability.hpp"
#include "thread.hpp"

namespace rungs::ptx {

struct Module;

/// A kernel that nvcc's host code told us of.
struct Kernel {
  Module* module = nullptr;
  std::string name;
  bool decoded = false;
  int target = 0;  ///< the compute capability that its PTX is for, 80 for 8.0
  Code code;
  size_t static_shared = 0, may_have_dynamic = 48 * 1024;
};

/// The kernel that the host knows by this address, decoded. \throws Fault
Kernel& ready(const void* address);

/// Keeps the error for cudaGetLastError, and what a fault says for cudaGetErrorString.
cudaError_t fail(cudaError_t error);
cudaError_t fail(const std::exception& fault);

/// Does it, or while the stream is captured notes it for the graph.
cudaError_t submit(cudaStream_t stream, std::function<cudaError_t()> work);

/// Of shared memory, that a block may have at most.
size_t shared_of_block();

}  // namespace rungs::ptx
