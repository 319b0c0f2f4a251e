// The engine of the programs that have the kernels: rungs_emulator those that the host compiler made, rungs_gpu those
// of nvcc. rungs becomes one of them where a CUDA backend is asked for.
#include "become.hpp"
#include "engine.hpp"
#include "kernels/backend/cuda_ops.hpp"
#include "kernels/backend/naive_ops.hpp"
#include "rungs/ops/cpu_ops.hpp"

namespace rungs {

const bool engine_is_mine = false;

#ifdef RUNGS_CUDA_ON_CPU
static constexpr const char *kernels_on = "emulator", *other = "rungs_gpu";
#else
static constexpr const char *kernels_on = "gpu", *other = "rungs_emulator";
#endif

template <class Kind>
static Backend the_only() {
  static Kind ops;
  return ops;
}

Backend backend_of(const DeviceChoice& device) {
  if (device.backend == "cpu") return the_only<CpuOps>();
  if (device.on != kernels_on) become(other, device.argv);
  return device.backend == "cuda" ? the_only<CudaOps>() : the_only<NaiveCudaOps>();
}

std::unique_ptr<Engine> make_engine(const DeviceChoice& device) { return std::make_unique<Engine>(backend_of(device)); }

}  // namespace rungs
