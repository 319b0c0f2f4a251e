// The programs rungs_mine_emulator and rungs_mine_gpu: the engine on kernels of the learner's.
#include "my_engine.hpp"
#include "my_kernels.hpp"
#include "my_lessons.hpp"
#include "my_step.hpp"

namespace rungs {

// The host's part of a step, too: what it reads and draws.
constexpr Role roles[] = {{7, "probabilities, sample", true, true},
                          {14, "encode, decode, decode_next", true, false},
                          {16, "add", true, true},
                          {17, "matmul_vectorized, where 21 takes no part", true, true},
                          {18, "rms_norm", true, false},
                          {19, "attention_tiled, attention_split", true, true},
                          {20, "llama_forward, from the first new token on", true, false},
                          {21, "matmul_pipeline, for weights in bf16", true, true}};

static MyKernels& my_kernels() {
  static MyKernels kernels;
  return kernels;
}

Backend backend_of(const DeviceChoice&) { return my_kernels(); }

static std::unique_ptr<Model> stepped_llama(const std::filesystem::path& path, const LoadOptions& options) {
  return llama_with_my_step(my_kernels(), path, options);
}

std::unique_ptr<Engine> make_engine(const DeviceChoice& device) {
  return my_engine(backend_of(device), roles, passed(20) ? stepped_llama : nullptr);
}

}  // namespace rungs
