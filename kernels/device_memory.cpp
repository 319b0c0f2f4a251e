#include "kernels/device_memory.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "kernels/launch.cuh"
#include "rungs/base/error.hpp"

namespace rungs {

Tensor device_tensor(const Shape& shape, DType dtype) {
  const size_t bytes = size_t(shape.count()) * bytes_of(dtype);
  void* memory = nullptr;
  // A tensor of no elements has an address too: a null one would say that there is no tensor.
  const cudaError_t allocated = cudaMalloc(&memory, bytes ? bytes : 1);
  if (allocated == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is said below; the next call must not find it
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw CudaError(fmt::format("a tensor of shape {} and dtype {} wants {} bytes of device memory, {} of {} are free",
                                to_string(shape), name_of(dtype), bytes, free, total));
  }
  CUDA_CHECK(allocated);
  return Tensor(shape, dtype, Tensor::Memory(memory, [](void* p) { cudaFree(p); }), Place::gpu);
}

bool kernels_are_checked() {
#ifdef RUNGS_CHECKED
  return true;
#else
  return false;
#endif
}

Tensor to_device(const Tensor& host) {
  Tensor device = device_tensor(host.shape(), host.dtype());
  CUDA_CHECK(cudaMemcpy(device.raw(), host.raw(), host.bytes(), cudaMemcpyHostToDevice));
  return device;
}

Tensor to_host(const Tensor& device) {
  Tensor host = Tensor::uninitialised(device.shape(), device.dtype());
  CUDA_CHECK(cudaDeviceSynchronize());
  CUDA_CHECK(cudaMemcpy(host.raw(), device.raw(), device.bytes(), cudaMemcpyDeviceToHost));
  return host;
}

}  // namespace rungs
