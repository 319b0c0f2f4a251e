#include "kernels/launch.cuh"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/device.hpp"
#include "rungs/base/error.hpp"

namespace rungs {

/// The runtime found no driver, one that is too old, or no GPU. The emulator, which always has one, names no such
/// errors.
static bool wants_device(cudaError_t result) {
  constexpr int insufficient_driver = 35, no_device = 100;
  return int(result) == insufficient_driver || int(result) == no_device;
}

void check_cuda(cudaError_t result, const char* call, const char* file, int line) {
  if (result == cudaSuccess) return;
  if (wants_device(result)) require_cuda_device();
  const char* folder = std::strrchr(file, '/');
  throw CudaError(fmt::format("{}: {} ({}:{})", call, cudaGetErrorString(result), folder ? folder + 1 : file, line));
}

static std::string name_of_kernel([[maybe_unused]] const void* kernel) {
#if defined(CUDART_VERSION) && CUDART_VERSION >= 12030
  const char* name = nullptr;
  if (cudaFuncGetName(&name, kernel) == cudaSuccess) {
    char* text = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
    const std::string result = text ? text : name;
    std::free(text);
    return result;
  }
#endif
  return "a kernel";
}

/// The limit that the launch breaks, or the runtime's own words.
static std::string why_refused(cudaError_t result, const void* kernel, const LaunchShape& shape) {
  int device = 0;
  cudaDeviceProp properties;
  cudaFuncAttributes attributes;
  const bool asked = cudaGetDevice(&device) == cudaSuccess &&
                     cudaGetDeviceProperties(&properties, device) == cudaSuccess &&
                     cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess;
  const std::string limit = asked ? broken_limit(properties, attributes, shape) : "";
  return limit.empty() ? cudaGetErrorString(result) : limit;
}

static bool device_overlaps() {
  const char* wish = std::getenv("RUNGS_OVERLAP");
  if (wish && std::strcmp(wish, "0") == 0) return false;
  int device = 0, major = 0, runtime = 0, driver = 0;
  const bool asked = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                     cudaRuntimeGetVersion(&runtime) == cudaSuccess && cudaDriverGetVersion(&driver) == cudaSuccess;
  constexpr int captures_it = 12030;
  return asked && major >= 9 && runtime >= captures_it && driver >= captures_it;
}

// What was compiled for an older GPU, and is translated by the driver, has no wait in it: it must not begin early.
bool may_overlap(const void* kernel) {
  static const bool device = device_overlaps();
  cudaFuncAttributes compiled;
  return device && cudaFuncGetAttributes(&compiled, kernel) == cudaSuccess && compiled.ptxVersion >= 90;
}

void check_launch(cudaError_t result, const void* kernel, const LaunchShape& shape) {
  if (result == cudaSuccess) return;
  if (wants_device(result)) require_cuda_device();
  const dim3 &grid = shape.grid, &block = shape.block;
  throw CudaError(
      fmt::format("launch of {} with grid ({},{},{}), block ({},{},{}), {} bytes of dynamic shared memory: {}",
                  name_of_kernel(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z, shape.shared_bytes,
                  why_refused(result, kernel, shape)));
}

void allow_shared(const void* kernel, const LaunchShape& shape) {
  const int bytes = int(shape.shared_bytes);
  const cudaError_t result = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (result != cudaSuccess) cudaGetLastError();  // it is said here; the next call must not find it
  check_launch(result, kernel, shape);
}

}  // namespace rungs
