// Steps of CudaOps as CUDA graphs, and the choice of a token.
#include <algorithm>

#include "kernels/backend/cuda_ops.hpp"
#include "kernels/launch.cuh"
#include "rungs/tensor/tap.hpp"

namespace rungs {

// One for each number of sequences that are still going on.
static constexpr size_t most_steps = 32;

void CudaOps::forget_steps() {
  for (const Step& step : steps_)
    if (step.graph) cudaGraphExecDestroy(step.graph);
  steps_.clear();
}

// A graph repeats launches with the addresses that they had. Two calls of one key have the same addresses as long as
// no memory was given back in between, for then what lies there could be another's. The first call of a key runs as it
// is: it may ask for workspace, which a captured one may not.
void CudaOps::replay(const StepKey& key, const std::function<void()>& launches) {
  if (taps_are_watched()) return launches();
  if (frees_ != cuda_traffic.frees || steps_.size() == most_steps) forget_steps();
  frees_ = cuda_traffic.frees;
  const auto step = std::find_if(steps_.begin(), steps_.end(), [&](const Step& seen) { return seen.key == key; });
  if (step == steps_.end()) {
    steps_.push_back({key, nullptr});
    return launches();
  }
  if (!step->graph) capture(*step, launches);
  CUDA_CHECK(cudaGraphLaunch(step->graph, stream_));
  ++cuda_traffic.replays;
}

void CudaOps::capture(Step& step, const std::function<void()>& launches) {
  cudaGraph_t graph = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  try {
    launches();
  } catch (...) {
    cudaStreamEndCapture(stream_, &graph);
    if (graph) cudaGraphDestroy(graph);
    throw;
  }
  CUDA_CHECK(cudaStreamEndCapture(stream_, &graph));
  const cudaError_t result = cudaGraphInstantiate(&step.graph, graph, 0);
  cudaGraphDestroy(graph);
  CUDA_CHECK(result);
  ++cuda_traffic.captures;
}

void CudaOps::launch_choice(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V) {
  if (draw)
    top_p_02(id, logits, draw, workspace, N, V, stream_);
  else
    argmax_02(id, logits, workspace, N, V, stream_);
}

}  // namespace rungs
