// The engine of the program rungs: the library's parts on the CPU. Another program has the kernels, which take longer
// to compile than all the rest: rungs builds it when it is first asked for, and becomes it.
#include <fmt/format.h>

#include "become.hpp"
#include "engine.hpp"
#include "rungs/ops/cpu_ops.hpp"

namespace rungs {

const bool engine_is_mine = false;

void become_program_of(const DeviceChoice& device) {
  if (device.backend != "cpu") become(device.on == "emulator" ? "rungs_emulator" : "rungs_gpu", device.argv);
}

Backend backend_of(const DeviceChoice& device) {
  become_program_of(device);
  static CpuOps ops;
  return ops;
}

RankBackend backend_of_rank(const DeviceChoice& device, Communicator& ranks, int, double) {
  const Backend backend = backend_of(device);
  return {backend, through_host(backend.device, ranks)};
}

std::unique_ptr<Engine> make_engine(const DeviceChoice& device) { return std::make_unique<Engine>(backend_of(device)); }

}  // namespace rungs
