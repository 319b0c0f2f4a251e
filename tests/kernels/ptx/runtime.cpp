// Stands in for the CUDA runtime: what our programs call of it, over the executor. Launches and copies are finished
// when the call returns, unless their stream is being captured. Errors do not stay, so that one test does not fail the
// next.
#include <cuda.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "decode.hpp"
#include "fat_binary.hpp"
#include "fault.hpp"
#include "memory.hpp"
#include "mutant.hpp"
#include "run.hpp"
#include "tensor_map.hpp"

namespace rungs::ptx {
namespace {

/// The kernels of one object file of nvcc. They are parsed when the first of them is launched, and each is decoded when
/// it is launched itself.
struct Module {
  const void* wrapper = nullptr;
  bool parsed = false;
  std::map<std::string, Function> functions;
};

struct Kernel {
  Module* module = nullptr;
  std::string name;
  bool decoded = false;
  Code code;
  size_t static_shared = 0, may_have_dynamic = 48 * 1024;
};

/// An A100, or the H100 that RUNGS_DEVICE asks for, of few multiprocessors, so that work for more blocks than run at
/// once is little work.
const bool is_h100 = std::getenv("RUNGS_DEVICE") && std::string(std::getenv("RUNGS_DEVICE")) == "h100";
const int compute_capability = is_h100 ? 9 : 8, multiprocessors = 8;
const size_t shared_of_block = (is_h100 ? 227 : 163) * 1024;

std::map<const void*, Kernel>& kernels() {
  static std::map<const void*, Kernel> all;
  return all;
}

cudaError_t last_error = cudaSuccess;
std::string last_fault;

cudaError_t fail(cudaError_t error) { return last_error = error; }

cudaError_t fail(const std::exception& exception) {
  last_fault = exception.what();
  return fail(cudaErrorLaunchFailure);
}

/// Where there is PTX for several architectures, that for 8.0, so that every machine tests the same.
std::string ptx_of(const Module& module) {
  const std::vector<std::string> texts = modules_of(module.wrapper);
  if (texts.empty()) throw Fault("there is no PTX in the program");
  for (const std::string& text : texts)
    if (text.find(".target sm_80") != text.npos) return text;
  return texts[0];
}

Kernel& ready(const void* address) {
  Kernel& kernel = kernels().at(address);
  if (kernel.decoded) return kernel;
  Module& module = *kernel.module;
  if (!module.parsed) module.functions = parse(mutated(ptx_of(module)));
  module.parsed = true;
  const auto found = module.functions.find(kernel.name);
  if (found == module.functions.end()) throw Fault("there is no PTX of " + kernel.name);
  kernel.code = decode(found->second);
  kernel.static_shared = end_of(found->second.shared);
  kernel.decoded = true;
  return kernel;
}

using Work = std::vector<std::function<cudaError_t()>>;

struct Stream {
  Work* captured = nullptr;  // while it is captured
};

/// Does it, or notes it for the graph.
cudaError_t submit(cudaStream_t stream, std::function<cudaError_t()> work) {
  Stream* of_ours = reinterpret_cast<Stream*>(stream);
  if (!of_ours || !of_ours->captured) return work();
  of_ours->captured->push_back(std::move(work));
  return cudaSuccess;
}

bool is_allowed(const Kernel& kernel, dim3 grid, dim3 block, size_t shared) {
  const size_t threads = size_t(block.x) * block.y * block.z;
  const bool some = grid.x > 0 && grid.y > 0 && grid.z > 0 && threads > 0;
  const bool not_too_many = grid.x <= 2147483647 && grid.y <= 65535 && grid.z <= 65535 && block.z <= 64;
  return some && not_too_many && threads <= kernel.code.max_threads && shared <= kernel.may_have_dynamic &&
         shared + kernel.static_shared <= shared_of_block;
}

cudaError_t launch(const void* address, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  try {
    const Kernel& kernel = ready(address);
    if (!is_allowed(kernel, grid, block, shared)) return fail(cudaErrorInvalidConfiguration);
    std::vector<char> parameters(kernel.code.parameter_bytes);
    const std::vector<Variable>& wanted = kernel.module->functions.at(kernel.name).parameters;
    for (size_t i = 0; i < wanted.size(); ++i)
      std::memcpy(parameters.data() + wanted[i].offset, arguments[i], wanted[i].bytes);
    return submit(stream, [&kernel, grid, block, shared, parameters] {
      try {
        run(kernel.code, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, parameters.data());
        return cudaSuccess;
      } catch (const std::exception& fault) {
        return fail(fault);
      }
    });
  } catch (const std::exception& fault) {
    return fail(fault);
  }
}

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

/// What the launch between `<<<` and `>>>` said.
struct Configuration {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
} configuration;

}  // namespace
}  // namespace rungs::ptx

using namespace rungs::ptx;

extern "C" {

// What nvcc's host code calls.

void** __cudaRegisterFatBinary(void* wrapper) { return reinterpret_cast<void**>(new Module{wrapper, false, {}}); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void** module, const char* address, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  Kernel& kernel = kernels()[address];
  kernel.module = reinterpret_cast<Module*>(module);
  kernel.name = name;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configuration = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = configuration.grid, *block = configuration.block, *shared = configuration.shared;
  *static_cast<cudaStream_t*>(stream) = configuration.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* address) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(address));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared, stream);
}
cudaError_t cudaLaunchKernel(const void* address, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launch(address, grid, block, arguments, shared, stream);
}

// Errors.

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaSuccess) return "no error";
  if (error == cudaErrorMemoryAllocation) return "out of memory";
  return error == cudaErrorLaunchFailure ? last_fault.c_str() : "an invalid argument or configuration";
}

// Memory.

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = allocate(bytes);
  return *memory ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* memory) {
  try {
    if (memory) rungs::ptx::free(memory);
    return cudaSuccess;
  } catch (const Fault&) {
    return fail(cudaErrorInvalidValue);
  }
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = free_bytes(), *total = device_bytes;
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return submit(stream, [=] {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  return submit(stream, [=] {
    std::memset(memory, value, bytes);
    return cudaSuccess;
  });
}

// Streams and graphs.

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = reinterpret_cast<cudaStream_t>(new Stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete reinterpret_cast<Stream*>(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  reinterpret_cast<Stream*>(stream)->captured = new Work;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(std::exchange(reinterpret_cast<Stream*>(stream)->captured, nullptr));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  *ready = reinterpret_cast<cudaGraphExec_t>(new Work(*reinterpret_cast<Work*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Work*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete reinterpret_cast<Work*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  for (const auto& work : *reinterpret_cast<Work*>(graph))
    if (const cudaError_t result = work(); result != cudaSuccess) return result;
  return cudaSuccess;
}

// The device.

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
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
  properties->major = compute_capability, properties->minor = 0;
  properties->multiProcessorCount = multiprocessors;
  properties->warpSize = 32;
  properties->totalGlobalMem = device_bytes;
  properties->sharedMemPerBlock = 48 * 1024;
  properties->sharedMemPerBlockOptin = shared_of_block;
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
      *value = compute_capability;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = int(shared_of_block);
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = int(shared_of_block) + 1024;
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
cudaError_t cudaFuncSetAttribute(const void* address, cudaFuncAttribute attribute, int value) {
  try {
    Kernel& kernel = ready(address);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0) return fail(cudaErrorInvalidValue);
    if (size_t(value) + kernel.static_shared > shared_of_block) return fail(cudaErrorInvalidValue);
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
    attributes->maxThreadsPerBlock = int(kernel.code.max_threads);
    return cudaSuccess;
  } catch (const std::exception& fault) {
    return fail(fault);
  }
}
cudaError_t cudaFuncGetName(const char** name, const void* address) {
  *name = kernels().at(address).name.c_str();
  return cudaSuccess;
}

}  // extern "C"
