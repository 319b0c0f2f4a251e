/// What the rungs of sample share: keys that order logits, the memory they work in, and the end of a choice, from
/// probabilities to the token. What a block does here all of its threads call: a power of two from 32 to 1024.
#pragma once

#include <cfloat>
#include <climits>

#include "sample/sample.hpp"
#include "warp.cuh"

namespace rungs {

constexpr int bins = 1024;  ///< of a histogram
constexpr int most_threads = 1024;
constexpr int chunk = 2048;  ///< ids that a block works on where a row has many blocks
constexpr int chunk_threads = 256;

/// Threads for a block that works on a whole row: up to 32 ids for each, while there are enough.
inline int threads_for_ids(int V) {
  int threads = 32;
  while (threads < most_threads && threads * 32 < V) threads *= 2;
  return threads;
}

using Key = unsigned long long;

/// \name A logit and its id as one number: the larger logit has the larger key, and of equal ones the lower id
///@{
constexpr Key not_finite_key = ~Key(0);

__device__ inline Key key_of(float logit, int id) {
  if (!(fabsf(logit) <= FLT_MAX)) return not_finite_key;  // above all others
  const unsigned bits = __float_as_uint(logit + 0.0f);    // -0 becomes 0, which it equals
  const unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return Key(ordered) << 32 | unsigned(INT_MAX - id);
}
__device__ inline int id_of(Key key) { return key == not_finite_key ? not_finite : INT_MAX - int(unsigned(key)); }
__device__ inline float logit_of(Key key) {
  const auto ordered = unsigned(key >> 32);
  return __uint_as_float(ordered & 0x80000000u ? ordered & 0x7fffffffu : ~ordered);
}
///@}

/// The workspace. With many blocks per row each leaves something for its chunk.
struct SampleMemory {
  Key* best;        ///< (N, chunks): the chunk's best key
  double* sum;      ///< (N, chunks): of exponentials
  Key* rest;        ///< (N, bins), see Histogram
  unsigned* count;  ///< (N, bins)
  float* p;         ///< (N, V): exponentials, then probabilities
  int chunks;       ///< of a row
};

/// sample_workspace(N, V) bytes as what they hold: the larger elements first, so that all are aligned.
inline SampleMemory sample_memory(void* workspace, int N, int V) {
  const int chunks = ceil_div(V, chunk);
  auto* best = static_cast<Key*>(workspace);
  auto* sum = reinterpret_cast<double*>(best + size_t(N) * chunks);
  auto* rest = reinterpret_cast<Key*>(sum + size_t(N) * chunks);
  auto* count = reinterpret_cast<unsigned*>(rest + size_t(N) * bins);
  return {best, sum, rest, count, reinterpret_cast<float*>(count + size_t(N) * bins), chunks};
}

/// exp((logit - largest) / temperature) as the CPU's sampler rounds it.
__device__ inline float exponential(float logit, float largest, double temperature) {
  return float(exp((double(logit) - double(largest)) / temperature));
}

/// The sum of x over the threads before this one.
__device__ inline double block_sum_before(double x) {
  __shared__ double of_warp[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  double sum = x;  // over this lane and those before it
  for (int away = 1; away < 32; away *= 2) {
    const double other = __shfl_up_sync(whole_warp, sum, away);
    if (lane >= away) sum += other;
  }
  if (lane == 31) of_warp[warp] = sum;
  const double before = __shfl_up_sync(whole_warp, sum, 1);
  __syncthreads();
  double warps_before = 0;
  for (int w = 0; w < warp; ++w) warps_before += of_warp[w];
  __syncthreads();  // before the next call writes of_warp
  return warps_before + (lane > 0 ? before : 0);
}

/// The first thread that says yes, or blockDim.x.
__device__ inline int first_thread(bool yes) {
  const int threads = blockDim.x;
  return threads - block_max(yes ? threads - int(threadIdx.x) : 0);
}

/// What `thread` holds.
template <class T>
__device__ inline T from_thread(int thread, const T& x) {
  __shared__ T shared;
  if (int(threadIdx.x) == thread) shared = x;
  __syncthreads();
  const T result = shared;
  __syncthreads();  // before the next call writes it
  return result;
}

/// Which probabilities stay: those whose bits are larger, and of those with the same bits the first `ties` by id. The
/// bits of floats of at least 0 are ordered as the floats are.
struct Cut {
  unsigned bits;
  int ties;  ///< INT_MAX: all
};

/// The cut at `bits` where `above`, the sum of what is larger, and as many ties of `each` as it takes reach `target`.
__device__ inline Cut cut_at(unsigned bits, double above, double each, double target, int V) {
  const double wanted = ceil((target - above) / each);
  if (!(wanted < V)) return {bits, INT_MAX};
  int ties = max(1, int(wanted));  // the quotient is rounded; the CPU's sampler compares sums
  if (above + ties * each < target) ++ties;
  if (ties > 1 && above + (ties - 1) * each >= target) --ties;
  return {bits, ties};
}

/// The same with the ties told apart by their id.
struct Kept {
  unsigned bits;
  int last_tie;
  __device__ bool has(float p, int id) const {
    const unsigned own = __float_as_uint(p);
    return own > bits || (own == bits && id <= last_tie);
  }
};

/// Part `part` of `parts` of the ids from `first` to `last`, in order, each but the last ones of the same size.
struct Stretch {
  int begin, end;
  __device__ Stretch(int first, int last, int part, int parts) {
    const int ids = (last - first + parts - 1) / parts;
    begin = min(first + part * ids, last), end = min(begin + ids, last);
  }
};

/// The id at which the running sum of x(id) first reaches `target` (`beyond`: exceeds it), or V. x gives at least 0.
template <class Value>
__device__ inline int reach(int V, double target, bool beyond, const Value& x) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto there = [&](double sum) { return beyond ? sum > target : sum >= target; };

  // In which warp's stretch?
  const int warps = blockDim.x / 32;
  const Stretch own(0, V, warp, warps);
  double sum = 0;
  for (int id = own.begin + lane; id < own.end; id += 32) sum += x(id);
  sum = warp_sum(sum);
  const double before = block_sum_before(lane == 0 ? sum : 0);
  const int first = first_thread(lane == 0 && sum > 0 && there(before + sum));
  if (first == int(blockDim.x)) return V;
  const double before_stretch = from_thread(first, before);

  // In which thread's piece of that stretch?
  const Stretch found(0, V, first / 32, warps), few(found.begin, found.end, threadIdx.x, blockDim.x);
  double piece = 0;
  int last = few.begin;  // that adds something
  for (int id = few.begin; id < few.end; ++id) {
    piece += x(id);
    if (x(id) > 0) last = id;
  }
  double running = before_stretch + block_sum_before(piece);
  int thread = first_thread(piece > 0 && there(running + piece));
  // The two sums can round to either side of the target: then it is the last that adds something.
  if (thread == int(blockDim.x)) thread = block_max(piece > 0 ? int(threadIdx.x) : 0);
  int id = few.begin;
  for (; id < last; ++id) {
    running += x(id);
    if (x(id) > 0 && there(running)) break;
  }
  return from_thread(thread, id);
}

/// Tells ties apart.
__device__ inline Kept kept_of(const Cut& cut, const float* p, int V) {
  if (cut.ties == INT_MAX) return {cut.bits, V};
  return {cut.bits, reach(V, cut.ties, false, [&](int id) { return __float_as_uint(p[id]) == cut.bits ? 1.0 : 0.0; })};
}

/// The sum of x(id) over all ids.
template <class Value>
__device__ inline double row_sum(int V, const Value& x) {
  double sum = 0;
  for (int id = threadIdx.x; id < V; id += blockDim.x) sum += x(id);
  return block_sum(sum);
}

/// The token that the draw falls on, from the probabilities p (V) of the whole vocabulary. select(by_count, target)
/// gives the cut at which the number, or else the sum, of the most probable reaches the target.
template <class Select>
__device__ inline int choose(const float* p, int V, const Draw& draw, const Select& select) {
  Kept kept = {0, V};
  double sum = 1;  // already so: the CPU's sampler does not divide again either
  const bool some_k = draw.top_k > 0 && draw.top_k < V, some_p = draw.top_p < 1;
  const auto kept_sum = [&] { return row_sum(V, [&](int id) { return kept.has(p[id], id) ? double(p[id]) : 0.0; }); };
  Cut cut = {0, INT_MAX};
  if (some_k) kept = kept_of(cut = select(true, draw.top_k), p, V);
  if (some_p) {
    const Cut top_p = select(false, draw.top_p * kept_sum());
    if (top_p.bits > cut.bits || (top_p.bits == cut.bits && top_p.ties < cut.ties)) kept = kept_of(top_p, p, V);
  }
  const bool again = some_k || some_p;
  if (again) sum = kept_sum();

  const auto probability = [&](int id) {
    if (!kept.has(p[id], id)) return 0.0;
    return double(again ? float(p[id] / sum) : p[id]);
  };
  const int id = reach(V, draw.draw, true, probability);
  if (id < V) return id;
  int last = 0;  // with a probability at all: rounding can leave the whole sum just below the draw
  for (int i = threadIdx.x; i < V; i += blockDim.x)
    if (probability(i) > 0) last = i;
  return block_max(last);
}

}  // namespace rungs
