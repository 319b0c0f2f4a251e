#include "kernels/launch.cuh"
#include "kernels/sample/row.cuh"

namespace rungs {

/// Rung 2, stage 1: each block leaves its chunk's best key, so that many multiprocessors read a row. It also clears the
/// histogram for stage 3.
__global__ void best_of_chunk(SampleMemory memory, const float* logits, int V) {
  const int n = blockIdx.x / memory.chunks, at = blockIdx.x % memory.chunks;
  const float* row = logits + size_t(n) * V;  // logits[n, :]
  const int begin = at * chunk, end = min(begin + chunk, V);
  Key best = 0;
  for (int i = begin + int(threadIdx.x); i < end; i += chunk_threads) best = max(best, key_of(row[i], i));
  best = block_max(best);
  if (threadIdx.x == 0) memory.best[blockIdx.x] = best;
  if (at == 0)
    for (int b = threadIdx.x; b < bins; b += chunk_threads)
      memory.count[size_t(n) * bins + b] = 0, memory.rest[size_t(n) * bins + b] = 0;
}

/// The best key of row n. The whole block calls, and each thread gets it.
__device__ static Key best_of_row(const SampleMemory& memory, int n) {
  Key best = 0;
  for (int i = threadIdx.x; i < memory.chunks; i += blockDim.x)
    best = max(best, memory.best[size_t(n) * memory.chunks + i]);
  return block_max(best);
}

__global__ void argmax_of_chunks(int* id, SampleMemory memory) {
  const Key best = best_of_row(memory, blockIdx.x);
  if (threadIdx.x == 0) id[blockIdx.x] = id_of(best);
}

/// Stage 2: the exponentials of a chunk and their sum.
__global__ void exponentials_of_chunk(SampleMemory memory, const float* logits, const Draw* draw, int V) {
  const int n = blockIdx.x / memory.chunks, at = blockIdx.x % memory.chunks;
  const double temperature = draw[n].temperature;
  const Key best = best_of_row(memory, n);
  if (best == not_finite_key || temperature == 0) return;
  const int begin = at * chunk, end = min(begin + chunk, padded(V));
  double sum = 0;
  for (int i = begin + int(threadIdx.x); i < end; i += chunk_threads) {
    const float e = i < V ? exponential(logits[size_t(n) * V + i], logit_of(best), temperature) : 0;
    memory.p[size_t(n) * padded(V) + i] = e;
    sum += e;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) memory.sum[blockIdx.x] = sum;
}

/// How probabilities fall into bins by ten of their bits, where the bits above are `prefix`. All of a bin have the same
/// exponent, so their sum is one of integers: exact, and the same in whatever order the atomics come.
struct Histogram {
  unsigned* count;  ///< (bins)
  unsigned* rest;   ///< (bins): the sum of the bits below the ten
  unsigned prefix;
  int shift;  ///< where the ten bits begin

  __device__ void add(float p) const {
    const unsigned bits = __float_as_uint(p);
    if (bits >> (shift + 10) != prefix) return;
    const unsigned bin = bits >> shift & (bins - 1);
    atomicAdd(&count[bin], 1u);
    atomicAdd(&rest[bin], bits & ((1u << shift) - 1));
  }
};

/// The sum of `count` floats of one exponent, the smallest of which could be `first`; rest: of their bits beyond its.
__device__ static double sum_of_bin(unsigned first, unsigned count, Key rest) {
  const int exponent = int(first >> 23);
  const Key fraction = (first & 0x7fffff) | (exponent > 0 ? 0x800000 : 0);
  return ldexp(double(fraction * count + rest), max(exponent, 1) - 150);
}

/// Stage 3: the probabilities of a chunk, and how they fall into bins by their upper bits.
__global__ void probabilities_of_chunk(SampleMemory memory, const Draw* draw, int V) {
  __shared__ unsigned count[bins], rest[bins];  // 2048 times 20 bits fit
  const int n = blockIdx.x / memory.chunks, at = blockIdx.x % memory.chunks;
  if (best_of_row(memory, n) == not_finite_key || draw[n].temperature == 0) return;
  double sum = 0;
  for (int i = threadIdx.x; i < memory.chunks; i += chunk_threads) sum += memory.sum[size_t(n) * memory.chunks + i];
  sum = block_sum(sum);
  for (int b = threadIdx.x; b < bins; b += chunk_threads) count[b] = rest[b] = 0;
  __syncthreads();

  const int begin = at * chunk, end = min(begin + chunk, V);
  for (int i = begin + int(threadIdx.x); i < end; i += chunk_threads) {
    float& p = memory.p[size_t(n) * padded(V) + i];
    p = float(p / sum);
    Histogram{count, rest, 0, 20}.add(p);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += chunk_threads)
    if (count[b] > 0) {
      atomicAdd(&memory.count[size_t(n) * bins + b], count[b]);
      atomicAdd(&memory.rest[size_t(n) * bins + b], Key(rest[b]));
    }
}

/// The cut where the number, or the sum, of the most probable reaches `target`: ten bits at a time, each time by a
/// histogram of those that share the bits found so far. The first histogram is there. The bins are shared out over the
/// threads from the most probable down.
__device__ static Cut descend(const SampleMemory& memory, const float* p, int V, bool by_count, double target) {
  __shared__ unsigned count[bins], rest[bins];
  const size_t row = size_t(blockIdx.x) * bins;
  const int per_thread = bins / int(blockDim.x), top = bins - 1 - int(threadIdx.x) * per_thread;
  unsigned prefix = 0;
  double above = 0;  // of those more probable than all that share the prefix
  for (int shift = 20;; shift -= 10) {
    const auto in_bin = [&](int bin) {
      const unsigned n = shift == 20 ? memory.count[row + bin] : count[bin];
      if (by_count) return double(n);
      return sum_of_bin((prefix << 10 | unsigned(bin)) << shift, n, shift == 20 ? memory.rest[row + bin] : rest[bin]);
    };
    double own = 0;
    for (int i = 0; i < per_thread; ++i) own += in_bin(top - i);
    double before = above + block_sum_before(own);
    const int found = first_thread(own > 0 && before + own >= target);
    if (found == int(blockDim.x)) return {0, INT_MAX};
    int bin = top;
    if (int(threadIdx.x) == found)
      for (int i = 1; i < per_thread && before + in_bin(bin) < target; ++i) before += in_bin(bin--);
    prefix = prefix << 10 | unsigned(from_thread(found, bin));
    above = from_thread(found, before);
    if (shift == 0) break;

    for (int b = threadIdx.x; b < bins; b += blockDim.x) count[b] = rest[b] = 0;
    __syncthreads();
    const Histogram next = {count, rest, prefix, shift - 10};
    for (int i = 4 * int(threadIdx.x); i < V; i += 4 * int(blockDim.x)) {
      const Few<4> few = load<4>(p + i);
      for (const float x : few.at) next.add(x);
    }
    __syncthreads();
  }
  return cut_at(prefix, above, by_count ? 1 : __uint_as_float(prefix), target, V);
}

/// Stage 4: one block per row finds the token.
__global__ void __launch_bounds__(most_threads, 1)
    choose_of_row(int* id, SampleMemory memory, const Draw* draw, int V) {
  const Draw own = draw[blockIdx.x];
  const float* p = memory.p + blockIdx.x * size_t(padded(V));  // p[n, :]
  int chosen = id_of(best_of_row(memory, blockIdx.x));
  if (chosen != not_finite && own.temperature > 0)
    chosen = choose(p, V, own, [&](bool by_count, double target) { return descend(memory, p, V, by_count, target); });
  if (threadIdx.x == 0) id[blockIdx.x] = chosen;
}

void argmax_02(int* id, const float* logits, void* workspace, int N, int V, cudaStream_t stream) {
  if (N == 0 || V == 0) return;
  const SampleMemory memory = sample_memory(workspace, N, V);
  launch(best_of_chunk, {N * memory.chunks, chunk_threads, 0, stream}, memory, logits, V);
  launch(argmax_of_chunks, {N, 32, 0, stream}, id, memory);
}

void top_p_02(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V, cudaStream_t stream) {
  if (N == 0 || V == 0) return;
  const SampleMemory memory = sample_memory(workspace, N, V);
  const LaunchShape chunks = {N * memory.chunks, chunk_threads, 0, stream};
  launch(best_of_chunk, chunks, memory, logits, V);
  launch(exponentials_of_chunk, chunks, memory, logits, draw, V);
  launch(probabilities_of_chunk, chunks, memory, draw, V);
  launch(choose_of_row, {N, threads_for_ids(V), 0, stream}, id, memory, draw, V);
}

}  // namespace rungs
