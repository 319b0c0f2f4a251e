// The engine of the programs that have the kernels: rungs_emulator those that the host compiler made, rungs_gpu those
// of nvcc. rungs becomes one of them where a CUDA backend is asked for.
#include <fmt/format.h>

#include "become.hpp"
#include "engine.hpp"
#include "kernels/backend/cuda_ops.hpp"
#include "kernels/backend/gpu_of_rank.hpp"
#include "kernels/backend/naive_ops.hpp"
#ifndef RUNGS_CUDA_ON_CPU
#include "kernels/backend/nccl.hpp"
#endif
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

#ifdef RUNGS_CUDA_ON_CPU
static Collectives collectives_of(CudaDevice& cuda, Communicator& ranks, double) { return through_host(cuda, ranks); }
#else
/// By NCCL where it can, else through the host, and rank 0 says why.
static Collectives collectives_of(CudaDevice& cuda, Communicator& ranks, double patience) {
  const std::string why = why_not_nccl(ranks);
  if (why.empty()) return nccl_collectives(cuda.stream(), ranks, patience);
  if (ranks.rank() == 0) fmt::print(stderr, "{}: what ranks sum goes through the host.\n", why);
  return through_host(cuda, ranks);
}
#endif

RankBackend backend_of_rank(const DeviceChoice& device, Communicator& ranks, int rank_here, double patience) {
  if (device.backend == "cpu") {
    const Backend cpu = backend_of(device);
    return {cpu, through_host(cpu.device, ranks)};
  }
  use_gpu_of_rank(rank_here);  // before anything is made on one
  CudaDevice& cuda = cuda_of(device);
  return {cuda, collectives_of(cuda, ranks, patience)};
}

std::unique_ptr<Engine> make_engine(const DeviceChoice& device) { return std::make_unique<Engine>(backend_of(device)); }

}  // namespace rungs
