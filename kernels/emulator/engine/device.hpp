/// The GPU that the CPU plays: what a launch may ask for, and how its tensor cores round.
#pragma once

#include <cstddef>

namespace rungs::emulator {

// The same on each of them.
inline constexpr unsigned max_threads_per_block = 1024, max_block_z = 64, max_grid_x = 0x7fffffff, max_grid_yz = 65535;
inline constexpr size_t shared_bytes_per_block = 48 << 10;  ///< unasked; more must be asked for

/// A GPU, as the CUDA Programming Guide describes its compute capability, and its architecture's white paper its size.
struct Device {
  const char* name;  ///< as RUNGS_DEVICE has it
  int major, minor;  ///< compute capability
  int multiprocessors, threads_per_multiprocessor;
  size_t shared_per_block, shared_per_multiprocessor;     ///< bytes; of a block those that it may ask for
  int registers_per_block, registers_per_multiprocessor;  ///< of 32 bits
  int l2_bytes;
  int fused_products, fraction_bits;  ///< how its tensor cores add: engine/tensor_core.cpp
};

/// The one that the environment variable RUNGS_DEVICE names, else an A100. \throws CudaError for another name
const Device& device();

}  // namespace rungs::emulator
