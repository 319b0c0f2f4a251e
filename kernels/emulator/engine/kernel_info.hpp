/// What the engine knows of each kernel, and the limits of the device that the CPU plays.
#pragma once

#include <string>
#include <vector>

#include "kernels/emulator/engine/launch.hpp"
#include "kernels/emulator/engine/symbols.hpp"

namespace rungs::emulator {

// A GPU of compute capability 8.0: what fits here fits there and on newer ones.
inline constexpr unsigned max_threads_per_block = 1024, max_block_z = 64, max_grid_x = 0x7fffffff, max_grid_yz = 65535;
inline constexpr size_t shared_bytes_per_block = 48 << 10, shared_bytes_per_block_optin = 163 << 10;

struct KernelInfo {
  std::string name;                           ///< "matmul_tiled<32>"
  std::vector<const SharedSymbol*> shared{};  ///< arrays of its own and of functions that it may call
  size_t static_shared_bytes = 0;             ///< its own
};

/// The same object each time.
const KernelInfo& kernel_info(const void* kernel);

/// Runs a launch whose configuration was found right, now. \throws CudaError
void run(const Launch& launch);

}  // namespace rungs::emulator
