// Decoding steps of CudaOps as CUDA graphs, and the choice of a token.
#include <algorithm>

#include "kernels/backend/cuda_ops.hpp"
#include "kernels/launch.cuh"
#include "rungs/tensor/tap.hpp"

namespace rungs {

// One for each number of sequences that are still going on.
static constexpr size_t most_steps = 32;

void CudaOps::forget_captured() {
  for (const CapturedStep& step : captured_)
    if (step.graph) cudaGraphExecDestroy(step.graph);
  captured_.clear();
}

// A graph repeats launches with the addresses that they had. Two calls of one key have the same addresses as long as
// no memory was given back in between, for then what lies there could be another's. The first call of a key runs as it
// is: it may ask for workspace, which a captured one may not.
void CudaOps::decode(const void* model, const Tensor& logits, const Rows& rows, const LayerCache& cache,
                     const std::function<void()>& launches) {
  if (taps_are_watched()) return launches();
  if (frees_ != cuda_traffic.frees || captured_.size() == most_steps) forget_captured();
  frees_ = cuda_traffic.frees;
  const Key key{model, logits.raw(), cache.k.raw(), rows.token.count(), rows.logit_rows.count()};
  const auto step =
      std::find_if(captured_.begin(), captured_.end(), [&](const CapturedStep& seen) { return seen.key == key; });
  if (step == captured_.end()) {
    captured_.push_back({key, nullptr});
    return launches();
  }
  if (!step->graph) capture(*step, launches);
  CUDA_CHECK(cudaGraphLaunch(step->graph, stream_));
  ++cuda_traffic.replays;
}

void CudaOps::capture(CapturedStep& step, const std::function<void()>& launches) {
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
