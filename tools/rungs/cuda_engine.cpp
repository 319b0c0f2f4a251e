// The engine of the programs that have the kernels: rungs_emulator those that the host compiler made, rungs_gpu those
// of nvcc. rungs becomes one of them where a CUDA backend is asked for.
#include "become.hpp"
#include "engine.hpp"
#include "kernels/backend/cuda_ops.hpp"
#include "kernels/backend/gpu_of_rank.hpp"
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
static Kind& the_only() {
  static Kind ops;
  return ops;
}

void become_program_of(const DeviceChoice& device) {
  if (device.backend != "cpu" && device.on != kernels_on) become(other, device.argv);
}

static CudaDevice& cuda_of(const DeviceChoice& device) {
  if (device.backend == "cuda") return the_only<CudaOps>();
  return the_only<NaiveCudaOps>();
}

Backend backend_of(const DeviceChoice& device) {
  if (device.backend == "cpu") return the_only<CpuOps>();
  become_program_of(device);
  return cuda_of(device);
}

RankBackend backend_of_rank(const DeviceChoice& device, Communicator& ranks, int rank_here, double) {
  if (device.backend == "cpu") {
    const Backend cpu = backend_of(device);
    return {cpu, through_host(cpu.device, ranks)};
  }
  use_gpu_of_rank(rank_here);  // before anything is made on one
  CudaDevice& cuda = cuda_of(device);
  return {cuda, through_host(cuda, ranks)};
}

std::unique_ptr<Engine> make_engine(const DeviceChoice& device) { return std::make_unique<Engine>(backend_of(device)); }

}  // namespace rungs
