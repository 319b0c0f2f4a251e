// The program rungs_mine: the engine on the CPU.
#include "mine_ops.hpp"
#include "my_engine.hpp"

namespace rungs {

constexpr Role roles[] = {{1, "linear", true, true},
                          {2, "embed", true, true},
                          {3, "layer_norm", false, true},
                          {4, "relu", false, true},
                          {7, "probabilities, sample", true, true},
                          {8, "sdpa", false, true},
                          {10, "sdpa", true, false},
                          {11, "apply_rope", true, false},
                          {12, "rms_norm", true, false},
                          {13, "silu, swiglu", true, false},
                          {14, "encode, decode, decode_next", true, false},
                          {15, "rotary_table, output_weight, llama_forward, generate", true, false}};

static MineOps& mine_ops() {
  static MineOps ops;
  return ops;
}

Backend backend_of(const DeviceChoice&) { return mine_ops(); }

std::unique_ptr<Engine> make_engine(const DeviceChoice& device) {
  return my_engine(backend_of(device), roles, nullptr,
                   [](const Config& config) { mine_ops().runs(config.is_llama()); });
}

}  // namespace rungs
