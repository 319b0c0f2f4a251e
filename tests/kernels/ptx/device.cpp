// The stand-in for the CUDA runtime: the device that it is, and the limits of its kernels.
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "memory.hpp"
#include "runtime.hpp"
#include "tensor_map.hpp"

namespace rungs::ptx {
namespace {

/// Few, so that work for more blocks than run at once is little work.
constexpr int multiprocessors = 8;

/// The driver's function that describes a tensor to the copy engine, for what the executor knows: bf16 in the swizzle
/// of 128 bytes, every element. The limits are those that CUDA documents.
CUresult encode_tensor_map(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* data,
                           const cuuint64_t* size, const cuuint64_t* stride, const cuuint32_t* box,
                           const cuuint32_t* every, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  const bool known = type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 && interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
                     swizzle == CU_TENSOR_MAP_SWIZZLE_128B && fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  if (!known || rank < 1 || rank > 5 || u64(data) % 16 != 0 || u64(out) % 64 != 0 || box[0] * 2 > 128)
    return CUDA_ERROR_INVALID_VALUE;
  TensorMap map{u64(data), rank, {}, {}, {2}};
  for (u32 d = 0; d < rank; ++d) {
    if (size[d] < 1 || size[d] > u64(1) << 32 || box[d] < 1 || box[d] > 256 || every[d] != 1)
      return CUDA_ERROR_INVALID_VALUE;
    if (d > 0 && (stride[d - 1] % 16 != 0 || stride[d - 1] >= u64(1) << 40)) return CUDA_ERROR_INVALID_VALUE;
    map.size[d] = size[d], map.box[d] = box[d];
    if (d > 0) map.stride[d] = stride[d - 1];
  }
  std::memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

}  // namespace

size_t shared_of_block() { return size_t(compute_capability() == 9 ? 227 : 163) * 1024; }

}  // namespace rungs::ptx

using namespace rungs::ptx;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int) {
  std::snprintf(id, size_t(size), "the executor of PTX");
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "the executor of PTX");
  properties->major = compute_capability(), properties->minor = 0;
  properties->multiProcessorCount = multiprocessors;
  properties->warpSize = 32;
  properties->totalGlobalMem = device_bytes;
  properties->sharedMemPerBlock = 48 * 1024;
  properties->sharedMemPerBlockOptin = shared_of_block();
  properties->maxThreadsPerBlock = 1024;
  const int block[] = {1024, 1024, 64}, grid[] = {2147483647, 65535, 65535};
  std::copy(block, block + 3, properties->maxThreadsDim);
  std::copy(grid, grid + 3, properties->maxGridSize);
  return cudaSuccess;
}
/// Those that our programs ask for; any other is an error.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = multiprocessors;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = compute_capability();
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = int(shared_of_block());
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = int(shared_of_block()) + 1024;
      return cudaSuccess;
    default:
      return fail(cudaErrorInvalidValue);
  }
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const bool known = std::string(name) == "cuTensorMapEncodeTiled";
  *function = known ? reinterpret_cast<void*>(encode_tensor_map) : nullptr;
  *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
#if CUDART_VERSION < 12050
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(name, function, 12000, flags, result);
}
#endif
cudaError_t cudaFuncSetAttribute(const void* address, cudaFuncAttribute attribute, int value) {
  try {
    Kernel& kernel = ready(address);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0) return fail(cudaErrorInvalidValue);
    if (size_t(value) + kernel.static_shared > shared_of_block()) return fail(cudaErrorInvalidValue);
    kernel.may_have_dynamic = size_t(value);
    return cudaSuccess;
  } catch (const std::exception& fault) {
    return fail(fault);
  }
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* address) {
  try {
    const Kernel& kernel = ready(address);
    *attributes = {};
    attributes->sharedSizeBytes = kernel.static_shared;
    attributes->ptxVersion = kernel.target;
    attributes->maxThreadsPerBlock = int(kernel.code.max_threads);
    return cudaSuccess;
  } catch (const std::exception& fault) {
    return fail(fault);
  }
}

}  // extern "C"
