// A step that is recorded once, launched four times, and wrong on purpose: what changes from step to step is an
// argument. Each step is to keep its number in the next row of a cache, and to add up all rows so far.
#include <fmt/format.h>

#include <string_view>

#include "kernels/device_memory.hpp"
#include "kernels/launch.cuh"
#include "rungs/base/text.hpp"

using namespace rungs;

constexpr int steps = 4;

/// The row of this step.  cache: (steps); count: (1), how many steps there were before
__global__ void append_kernel(float* cache, int position, const int* count) {
  const float row = 10.0f * float(*count + 1);
  cache[position] = row;
}

/// sums[*count] = the rows 0 to *count; then there is one step more.  sums, cache: (steps)
__global__ void read_kernel(float* sums, const float* cache, int* count) {
  float sum = 0;
  for (int i = 0; i <= *count; ++i) sum += cache[i];
  sums[*count] = sum;
  *count += 1;
}

/// Records a step with position 0, and launches it at positions 0, 1, 2, 3, or so it seems.
static void decode(float* sums, float* cache, int* count, cudaStream_t stream) {
  int position = 0;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t step = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch(append_kernel, {1, 1, 0, stream}, cache, position, count);
  launch(read_kernel, {1, 1, 0, stream}, sums, cache, count);
  CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  CUDA_CHECK(cudaGraphInstantiate(&step, graph, 0));
  for (; position < steps; ++position) CUDA_CHECK(cudaGraphLaunch(step, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CUDA_CHECK(cudaGraphExecDestroy(step));
  CUDA_CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char** argv) try {
  Tensor sums = device_tensor({steps}), cache = device_tensor({steps}), count = device_tensor({1}, DType::i32);
  CUDA_CHECK(cudaMemset(count.raw(), 0, count.bytes()));
  if (argc != 2 || argv[1] != std::string_view("checker")) CUDA_CHECK(cudaMemset(cache.raw(), 0, cache.bytes()));
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreate(&stream));
  decode(sums.data(), cache.data(), count.data<int32_t>(), stream);
  CUDA_CHECK(cudaStreamDestroy(stream));
  const Tensor made = to_host(sums);
  for (int i = 0; i < steps; ++i) fmt::print("step {}: {}, and should be {}\n", i, made(i), 5 * (i + 1) * (i + 2));
  return 1;
} catch (const CudaError& e) {
  fmt::print("{}\n", wrapped(e.what(), 100, ""));
  return 1;
}
