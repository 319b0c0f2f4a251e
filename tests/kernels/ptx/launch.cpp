// The stand-in for the CUDA runtime: what the host code that nvcc makes calls, from a kernel's name to its launch.
#include <fmt/format.h>

#include <map>
#include <vector>

#include "decode.hpp"
#include "fat_binary.hpp"
#include "fault.hpp"
#include "mutant.hpp"
#include "run.hpp"
#include "runtime.hpp"

namespace rungs::ptx {

/// The kernels of one object file of nvcc. They are parsed when the first of them is launched, and each is decoded when
/// it is launched itself.
struct Module {
  const void* wrapper = nullptr;
  bool parsed = false;
  int target = 0;  ///< the compute capability that its PTX is for, 80 for 8.0
  std::map<std::string, Function> functions;
};

namespace {

std::map<const void*, Kernel>& kernels() {
  static std::map<const void*, Kernel> all;
  return all;
}

int target_of(const std::string& text) {
  const size_t at = text.find(".target sm_");
  return at == text.npos ? 0 : std::atoi(text.c_str() + at + 11);
}

/// Where there is PTX for several architectures, the newest that the device takes, as a driver does: the same on every
/// machine, for an A100 that for 8.0.
std::string ptx_of(const Module& module) {
  const std::vector<std::string> texts = modules_of(module.wrapper);
  const std::string* newest = nullptr;
  for (const std::string& text : texts)
    if (target_of(text) <= 10 * compute_capability() && (!newest || target_of(*newest) < target_of(text)))
      newest = &text;
  if (!newest) throw Fault("there is no PTX in the program");
  return *newest;
}

}  // namespace

Kernel& ready(const void* address) {
  Kernel& kernel = kernels().at(address);
  if (kernel.decoded) return kernel;
  Module& module = *kernel.module;
  if (!module.parsed) {
    const std::string text = ptx_of(module);
    module.target = target_of(text);
    module.functions = parse(mutated(text));
    module.parsed = true;
  }
  const auto found = module.functions.find(kernel.name);
  if (found == module.functions.end()) throw Fault("there is no PTX of " + kernel.name);
  kernel.code = decode(found->second);
  kernel.static_shared = end_of(found->second.shared);
  kernel.target = module.target;
  kernel.decoded = true;
  return kernel;
}

namespace {

bool is_allowed(const Kernel& kernel, dim3 grid, dim3 block, size_t shared) {
  const size_t threads = size_t(block.x) * block.y * block.z;
  const bool some = grid.x > 0 && grid.y > 0 && grid.z > 0 && threads > 0;
  const bool not_too_many = grid.x <= 2147483647 && grid.y <= 65535 && grid.z <= 65535 && block.z <= 64;
  return some && not_too_many && threads <= kernel.code.max_threads && shared <= kernel.may_have_dynamic &&
         shared + kernel.static_shared <= shared_of_block();
}

cudaError_t launch(const void* address, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream,
                   bool overlap = false) {
  try {
    const Kernel& kernel = ready(address);
    if (!is_allowed(kernel, grid, block, shared)) return fail(cudaErrorInvalidConfiguration);
    std::vector<char> parameters(kernel.code.parameter_bytes);
    const std::vector<Variable>& wanted = kernel.module->functions.at(kernel.name).parameters;
    for (size_t i = 0; i < wanted.size(); ++i)
      std::memcpy(parameters.data() + wanted[i].offset, arguments[i], wanted[i].bytes);
    return submit(stream, [&kernel, grid, block, shared, parameters, overlap] {
      try {
        run(kernel.code, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, parameters.data(), overlap);
        return cudaSuccess;
      } catch (const std::exception& fault) {
        return fail(fault);
      }
    });
  } catch (const std::exception& fault) {
    return fail(fault);
  }
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

void** __cudaRegisterFatBinary(void* wrapper) { return reinterpret_cast<void**>(new Module{wrapper, false, 0, {}}); }
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

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* address, void** arguments) {
  bool overlap = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id != cudaLaunchAttributeProgrammaticStreamSerialization) return fail(cudaErrorInvalidValue);
    overlap = attribute.val.programmaticStreamSerializationAllowed;
  }
  return launch(address, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream,
                overlap);
}

cudaError_t cudaFuncGetName(const char** name, const void* address) {
  *name = kernels().at(address).name.c_str();
  return cudaSuccess;
}

}  // extern "C"
