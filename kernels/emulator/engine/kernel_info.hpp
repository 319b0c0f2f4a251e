/// What the engine knows of each kernel.
#pragma once

#include <string>
#include <vector>

#include "kernels/emulator/engine/launch.hpp"
#include "kernels/emulator/engine/symbols.hpp"

namespace rungs::emulator {

struct KernelInfo {
  std::string name;                           ///< "matmul_tiled<32>"
  std::vector<const SharedSymbol*> shared{};  ///< arrays of its own and of functions that it may call
  size_t static_shared_bytes = 0;             ///< its own
};

/// The same object each time.
const KernelInfo& kernel_info(const void* kernel);

/// The largest block, in threads, that each kernel of the program was launched with; 0 for one that never was. And the
/// most dynamic shared memory of a block.
struct LargestBlock {
  std::string kernel;
  unsigned threads = 0;      ///< to run
  unsigned dry_threads = 0;  ///< in a dry run
  size_t dynamic_bytes = 0;
};
std::vector<LargestBlock> largest_blocks();
/// Of a launch whose configuration was found right.
void note_launch(const Launch& launch);

/// Runs a launch whose configuration was found right, now. \throws CudaError
void run(const Launch& launch);

}  // namespace rungs::emulator
