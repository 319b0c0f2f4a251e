// The engine of the programs rungs and rungs_gpu: the library's parts, on the CPU or in CUDA. rungs has the kernels
// that the host compiler made, rungs_gpu those of nvcc; each becomes the other where that one is asked for.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "engine.hpp"
#include "ops/cpu_ops.hpp"
#include "ops/cuda_ops.hpp"
#include "ops/naive_ops.hpp"

namespace rungs {

const bool engine_is_mine = false;

#ifdef RUNGS_CUDA_ON_CPU
static constexpr const char *kernels_on = "host", *other = "rungs_gpu";
#else
static constexpr const char *kernels_on = "gpu", *other = "rungs";
#endif

[[noreturn]] static void become_the_other(char** argv) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").replace_filename(other);
  if (!std::filesystem::exists(program))
    throw UsageError(
        fmt::format("there is no {}, which is built where there is an nvcc of CUDA 12 or newer; with --on host the "
                    "same kernels run on the processor",
                    other));
  execv(program.c_str(), argv);
  throw Error(fmt::format("{}: cannot be started: {}", program.string(), std::strerror(errno)));
}

template <class Kind>
static Ops& the_only() {
  static Kind ops;
  return ops;
}

Ops& ops_of(const Device& device) {
  if (device.backend == "cpu") return the_only<CpuOps>();
  if (device.on != kernels_on) become_the_other(device.argv);
  return device.backend == "cuda" ? the_only<CudaOps>() : the_only<NaiveCudaOps>();
}

std::unique_ptr<Engine> make_engine(const Device& device) { return std::make_unique<Engine>(ops_of(device)); }

}  // namespace rungs
