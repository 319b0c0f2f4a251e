// The engine of the program rungs: the library's parts.
#include "engine.hpp"
#include "ops/cpu_ops.hpp"

namespace rungs {

const bool engine_is_mine = false;

std::unique_ptr<Engine> make_engine() {
  static CpuOps ops;
  return std::make_unique<Engine>(ops);
}

}  // namespace rungs
