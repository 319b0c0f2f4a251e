/// A launch: whether it is allowed, and whether it runs now or is noted.
#include <fmt/format.h>

#include "kernels/emulator/engine/device.hpp"
#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/engine/kernel_info.hpp"
#include "kernels/emulator/engine/multiprocessor.hpp"
#include "kernels/emulator/runtime/stream.hpp"
#include "rungs/base/error.hpp"

namespace rungs::emulator {

/// The limit that the launch breaks; empty when it breaks none.
static std::string broken_limit(const Launch& launch, const KernelInfo& kernel) {
  const dim3 &grid = launch.grid, &block = launch.block;
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (uint64_t(grid.x) * grid.y * grid.z == 0) return "the grid is empty";
  if (threads == 0) return "the block is empty";
  if (threads > max_threads_per_block)
    return fmt::format("a block of {} threads, the limit is {}", threads, max_threads_per_block);
  if (block.z > max_block_z) return fmt::format("blockDim.z is {}, the limit is {}", block.z, max_block_z);
  if (grid.x > max_grid_x) return fmt::format("gridDim.x is {}, the limit is {}", grid.x, max_grid_x);
  if (grid.y > max_grid_yz || grid.z > max_grid_yz)
    return fmt::format("gridDim.y is {} and gridDim.z is {}, the limit of each is {}", grid.y, grid.z, max_grid_yz);
  if (kernel.static_shared_bytes > shared_bytes_per_block)
    return fmt::format("{} bytes of static shared memory, the limit is {}", kernel.static_shared_bytes,
                       shared_bytes_per_block);
  const size_t shared = kernel.static_shared_bytes + launch.shared_bytes;
  if (shared > device().shared_per_block)
    return fmt::format("{} bytes of shared memory, {} of them static, the limit of the {} is {}", shared,
                       kernel.static_shared_bytes, device().name, device().shared_per_block);
  return "";
}

void launch(const Launch& launch) {
  const KernelInfo& kernel = kernel_info(launch.kernel);
  if (in_kernel()) fail("a kernel cannot launch a kernel");
  if (const std::string limit = broken_limit(launch, kernel); !limit.empty())
    throw CudaError(fmt::format("launch of {} with grid {}, block {}, {} bytes of dynamic shared memory: {}",
                                kernel.name, text_of(launch.grid), text_of(launch.block), launch.shared_bytes, limit));
  note_launch(launch);
  std::shared_ptr<const void> arguments;  // a capture keeps a copy, a launch that is done now needs none
  Launch kept = launch;
  if (being_captured(launch.stream)) {
    arguments = launch.copy(launch.arguments);
    kept.arguments = arguments.get();
  }
  if (enqueue(kernel.name.c_str(), launch.stream, [kept, arguments] { run(kept); }))
    throw CudaError(cudaGetErrorString(cudaPeekAtLastError()));
}

}  // namespace rungs::emulator
