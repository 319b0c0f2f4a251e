// The sentences for a launch that a GPU refuses, and for a GPU that cannot be used: with the numbers of a device that
// is not there.
#include "kernels/device.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "contains.hpp"
#include "device_array.hpp"
#include "host_kernels.hpp"
#include "kernels/launch.cuh"

namespace rungs::test {

TEST_SUITE_BEGIN("kernels_host");

TEST_CASE("a launch that a GPU refuses names what was wanted, the limit and the device") {
  cudaDeviceProp device{};
  std::strcpy(device.name, "NVIDIA A100");
  device.sharedMemPerBlockOptin = 166912;
  device.maxThreadsPerBlock = 1024, device.regsPerBlock = 65536;
  for (int i = 0; i < 3; ++i) device.maxThreadsDim[i] = i < 2 ? 1024 : 64, device.maxGridSize[i] = 65535;
  cudaFuncAttributes kernel{};
  kernel.sharedSizeBytes = 4096, kernel.numRegs = 168, kernel.maxThreadsPerBlock = 384;
  const auto says = [&](const LaunchShape& shape) { return broken_limit(device, kernel, shape); };
  CHECK(says({1, 384, 166912 - 4096}) == "");
  CHECK(says({1, 32, 166912}) ==
        "171008 bytes of shared memory, 4096 of them static, the limit of the NVIDIA A100 is 166912");
  CHECK(says({1, 512}) ==
        "a block of 512 threads with 168 registers each, of 65536 for a block: the limit of the NVIDIA A100 for this "
        "kernel is 384 threads");
  CHECK(says({1, 1025}) == "a block of 1025 threads, the limit of the NVIDIA A100 is 1024");
  CHECK(says({1, dim3(1, 1, 65)}) == "blockDim.z is 65, the limit of the NVIDIA A100 is 64");
  CHECK(says({dim3(1, 65536), 1}) == "gridDim.y is 65536, the limit of the NVIDIA A100 is 65535");
}

TEST_CASE("the sentence of a refused launch names the kernel, too") {
  const void* kernel = reinterpret_cast<const void*>(trap_in);
  CHECK_THROWS_WITH_AS(check_launch(cudaErrorInvalidValue, kernel, {1, 2000}), Contains("launch of "), CudaError);
  CHECK_THROWS_WITH_AS(check_launch(cudaErrorInvalidValue, kernel, {1, 2000}),
                       Contains(": a block of 2000 threads, the limit of the "), CudaError);
}

TEST_CASE("a driver of the program's major version is new enough, and an older one is named") {
  CHECK(why_no_device(0, 13000, "") == Contains("no NVIDIA driver was found; with --on emulator"));
  CHECK(why_no_device(12080, 13000, "") ==
        Contains("the NVIDIA driver is for CUDA 12.8, this program for 13.0: update the driver; with --on emulator"));
  CHECK(why_no_device(13000, 13020, "all are busy") == Contains("no GPU was found (all are busy); "));
}

TEST_SUITE_END();

}  // namespace rungs::test
