#include "kernels/launch.cuh"
#include "kernels/sample/row.cuh"

namespace rungs {

/// Rung 1: one block per row, so one of a GPU's many multiprocessors reads it all.
__global__ void __launch_bounds__(most_threads, 1) argmax_block_per_row(int* id, const float* logits, int V) {
  const float* row = logits + blockIdx.x * size_t(V);  // logits[n, :]
  Key best = 0;
  for (int i = threadIdx.x; i < V; i += blockDim.x) best = max(best, key_of(row[i], i));
  best = block_max(best);
  if (threadIdx.x == 0) id[blockIdx.x] = id_of(best);
}

void argmax_01(int* id, const float* logits, int N, int V, cudaStream_t stream) {
  if (N == 0 || V == 0) return;
  launch(argmax_block_per_row, {N, threads_for_ids(V), 0, stream}, id, logits, V);
}

/// The cut where the number, or the sum, of the most probable reaches `target`, by bisection: the bits of floats of at
/// least 0 are ordered as the floats are, so 31 halvings find one exactly. Each reads the row.
__device__ static Cut bisect(const float* p, int V, bool by_count, double target) {
  const auto of_at_least = [&](unsigned bits) {
    return row_sum(p, V, [&](int, float x) {
      if (__float_as_uint(x) < bits) return 0.0;
      return by_count ? 1.0 : double(x);
    });
  };
  unsigned reaches = 1, falls_short = 0x40000000;  // no probability is 2
  if (of_at_least(reaches) < target) return {0, INT_MAX};
  while (falls_short - reaches > 1) {
    const unsigned middle = (reaches + falls_short) / 2;
    (of_at_least(middle) >= target ? reaches : falls_short) = middle;
  }
  return cut_at(reaches, of_at_least(falls_short), by_count ? 1 : __uint_as_float(reaches), target, V);
}

/// Rung 1: one block per row does everything.
__global__ void __launch_bounds__(most_threads, 1)
    top_p_block_per_row(int* id, const float* logits, const Draw* draw, float* probabilities, int V) {
  const float* row = logits + blockIdx.x * size_t(V);         // logits[n, :]
  float* p = probabilities + blockIdx.x * size_t(padded(V));  // p[n, :]
  const Draw own = draw[blockIdx.x];

  Key best = 0;
  for (int i = threadIdx.x; i < V; i += blockDim.x) best = max(best, key_of(row[i], i));
  best = block_max(best);
  int chosen = id_of(best);
  if (chosen != not_finite && own.temperature > 0) {
    double sum = 0;
    for (int i = threadIdx.x; i < padded(V); i += blockDim.x) {
      p[i] = i < V ? exponential(row[i], logit_of(best), own.temperature) : 0;
      sum += p[i];
    }
    sum = block_sum(sum);
    for (int i = threadIdx.x; i < V; i += blockDim.x) p[i] = float(p[i] / sum);
    __syncthreads();
    chosen = choose(p, V, own, [&](bool by_count, double target) { return bisect(p, V, by_count, target); });
  }
  if (threadIdx.x == 0) id[blockIdx.x] = chosen;
}

void top_p_01(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V, cudaStream_t stream) {
  if (N == 0 || V == 0) return;
  const SampleMemory memory = sample_memory(workspace, N, V);
  launch(top_p_block_per_row, {N, threads_for_ids(V), 0, stream}, id, logits, draw, memory.p, V);
}

size_t sample_workspace(int N, int V) {
  const size_t of_chunks = sizeof(Key) + sizeof(double), of_bins = sizeof(Key) + sizeof(unsigned);
  return size_t(N) * (ceil_div(V, chunk) * of_chunks + bins * of_bins + padded(V) * sizeof(float));
}

}  // namespace rungs
