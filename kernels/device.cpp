#include "kernels/device.hpp"

#include <fmt/format.h>

#include "kernels/launch.cuh"
#include "rungs/base/error.hpp"

namespace rungs {

static std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

// A driver runs what any toolkit of its own major version made, and those before (CUDA's minor version compatibility):
// only a smaller major number is too old.
std::string why_no_device(int driver, int runtime, const char* error) {
  constexpr const char* instead = "; with --on emulator the same kernels run on the processor";
  if (driver == 0) return fmt::format("no NVIDIA driver was found{}", instead);
  if (driver / 1000 < runtime / 1000)
    return fmt::format("the NVIDIA driver is for CUDA {}, this program for {}: update the driver{}", version(driver),
                       version(runtime), instead);
  return fmt::format("no GPU was found ({}){}", error, instead);
}

void require_cuda_device() {
  int devices = 0, driver = 0, runtime = 0;
  const cudaError_t result = cudaGetDeviceCount(&devices);
  if (result == cudaSuccess && devices > 0) return;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  throw UsageError(why_no_device(driver, runtime, cudaGetErrorString(result)));
}

int attribute_of_device(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

std::string broken_limit(const cudaDeviceProp& device, const cudaFuncAttributes& kernel, const LaunchShape& shape) {
  const dim3 &grid = shape.grid, &block = shape.block;
  const size_t threads = size_t(block.x) * block.y * block.z, shared = kernel.sharedSizeBytes + shape.shared_bytes;
  if (shared > device.sharedMemPerBlockOptin)
    return fmt::format("{} bytes of shared memory, {} of them static, the limit of the {} is {}", shared,
                       kernel.sharedSizeBytes, device.name, device.sharedMemPerBlockOptin);
  if (threads > size_t(device.maxThreadsPerBlock))
    return fmt::format("a block of {} threads, the limit of the {} is {}", threads, device.name,
                       device.maxThreadsPerBlock);
  const std::string registers = kernel.numRegs > 0 ? fmt::format(" with {} registers each, of {} for a block",
                                                                 kernel.numRegs, device.regsPerBlock)
                                                   : "";
  if (threads > size_t(kernel.maxThreadsPerBlock))
    return fmt::format("a block of {} threads{}: the limit of the {} for this kernel is {} threads", threads, registers,
                       device.name, kernel.maxThreadsPerBlock);
  const unsigned sizes[] = {block.x, block.y, block.z, grid.x, grid.y, grid.z};
  for (int i = 0; i < 6; ++i) {
    const int most = i < 3 ? device.maxThreadsDim[i] : device.maxGridSize[i - 3];
    if (sizes[i] < 1 || sizes[i] > unsigned(most))
      return fmt::format("{}Dim.{} is {}, the limit of the {} is {}", i < 3 ? "block" : "grid", "xyz"[i % 3], sizes[i],
                         device.name, most);
  }
  return "";
}

}  // namespace rungs
