/// Errors, the device, kernels' attributes and events. Memory is in memory.cpp, streams in graph.cpp.
#include "kernels/emulator/runtime/runtime_api.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "kernels/emulator/engine/device.hpp"
#include "kernels/emulator/engine/kernel_info.hpp"
#include "kernels/emulator/runtime/stream.hpp"

static thread_local cudaError_t last_error = cudaSuccess;
static thread_local cudaError_t last_explained = cudaSuccess;  // stays when last_error was asked for
static thread_local std::string last_text;

namespace rungs::emulator {

cudaError_t report(cudaError_t error, std::string text) {
  last_text = std::move(text);
  return last_error = last_explained = error;
}

}  // namespace rungs::emulator

using namespace rungs::emulator;

cudaError_t cudaPeekAtLastError() { return last_error; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

namespace {

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};
constexpr ErrorText error_texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration of a launch"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "no such device: the CPU is device 0"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid stream, event or graph"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "not allowed in this state"},
    {cudaErrorNotReady, "cudaErrorNotReady", "not ready"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "a kernel failed"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "not permitted while a stream is captured"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "the capture was broken by an earlier error"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit", "the legacy stream depends on a captured one"},
};

const ErrorText& text_of_error(cudaError_t error) {
  for (const auto& entry : error_texts)
    if (entry.error == error) return entry;
  static constexpr ErrorText unknown{cudaSuccess, "unknown", "unknown error"};
  return unknown;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) { return text_of_error(error).name; }

const char* cudaGetErrorString(cudaError_t error) {
  return error != cudaSuccess && error == last_explained ? last_text.c_str() : text_of_error(error).text;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess
                     : report(cudaErrorInvalidDevice, fmt::format("no device {}: the CPU is device 0", device));
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int device) {
  if (const cudaError_t error = cudaSetDevice(device)) return error;
  std::snprintf(id, size_t(size), "the CPU");
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 12000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaDeviceSynchronize() {
  if (illegal_in_capture("cudaDeviceSynchronize")) return cudaErrorStreamCaptureUnsupported;
  kernels_ended();
  return cudaSuccess;
}
cudaError_t cudaDeviceReset() { return cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = cudaSetDevice(device)) return error;
  const Device& gpu = rungs::emulator::device();
  *properties = {.name = "the CPU",
                 .totalGlobalMem = 0,
                 .sharedMemPerBlock = shared_bytes_per_block,
                 .sharedMemPerBlockOptin = gpu.shared_per_block,
                 .sharedMemPerMultiprocessor = gpu.shared_per_multiprocessor,
                 .major = gpu.major,
                 .minor = gpu.minor,
                 .multiProcessorCount = gpu.multiprocessors,
                 .warpSize = 32,
                 .regsPerBlock = gpu.registers_per_block,
                 .regsPerMultiprocessor = gpu.registers_per_multiprocessor,
                 .maxThreadsPerBlock = int(max_threads_per_block),
                 .maxThreadsPerMultiProcessor = gpu.threads_per_multiprocessor,
                 .maxThreadsDim = {int(max_threads_per_block), int(max_threads_per_block), int(max_block_z)},
                 .maxGridSize = {int(max_grid_x), int(max_grid_yz), int(max_grid_yz)},
                 .l2CacheSize = gpu.l2_bytes,
                 .memoryBusWidth = 64,
                 .clockRate = 1'000'000,
                 .memoryClockRate = 1'000'000};
  size_t free = 0;
  return cudaMemGetInfo(&free, &properties->totalGlobalMem);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return *value = p.maxThreadsPerBlock, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return *value = int(p.sharedMemPerBlock), cudaSuccess;
    case cudaDevAttrWarpSize:
      return *value = p.warpSize, cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock:
      return *value = p.regsPerBlock, cudaSuccess;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return *value = p.regsPerMultiprocessor, cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      return *value = p.multiProcessorCount, cudaSuccess;
    case cudaDevAttrL2CacheSize:
      return *value = p.l2CacheSize, cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return *value = p.maxThreadsPerMultiProcessor, cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      return *value = p.major, cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      return *value = p.minor, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return *value = int(p.sharedMemPerMultiprocessor), cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return *value = int(p.sharedMemPerBlockOptin), cudaSuccess;
  }
  return report(cudaErrorInvalidValue, "cudaDeviceGetAttribute: an attribute that the CPU does not have");
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const KernelInfo& info = kernel_info(kernel);
  const size_t limit = device().shared_per_block - info.static_shared_bytes;
  if (value < 0 || size_t(value) > limit)
    return report(cudaErrorInvalidValue,
                  fmt::format("{} bytes of dynamic shared memory for {}, the limit is {}", value, info.name, limit));
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const KernelInfo& info = kernel_info(kernel);
  *attributes = {};
  attributes->sharedSizeBytes = info.static_shared_bytes;
  attributes->maxThreadsPerBlock = int(max_threads_per_block);
  attributes->ptxVersion = 10 * device().major + device().minor;
  attributes->maxDynamicSharedSizeBytes = int(device().shared_per_block - info.static_shared_bytes);
  return cudaSuccess;
}

/// An event: when it was recorded.
struct CUevent_st {
  std::chrono::steady_clock::time_point time{};
  bool recorded = false;
};
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return enqueue("cudaEventRecord", stream, [event] { *event = {std::chrono::steady_clock::now(), true}; });
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (!begin->recorded || !end->recorded)
    return report(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime: an event was not recorded");
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}
