/// What the rungs of sample share: keys that order logits, the memory they work in, and the end of a choice, from
/// probabilities to the token. What a block does here all of its threads call: a power of two from 32 to 512.
#pragma once

#include <cfloat>
#include <climits>

#include "kernels/floats.cuh"
#include "kernels/sample/sample.hpp"
#include "kernels/warp.cuh"

namespace rungs {

constexpr int bins = 1024;  ///< of a histogram
constexpr int most_threads = 512;
constexpr int chunk = 2048;  ///< ids that a block works on where a row has many blocks
constexpr int chunk_threads = 256;

/// Threads for a block that works on a whole row: up to 64 ids for each, while there are enough.
inline int threads_for_ids(int V) {
  int threads = 32;
  while (threads < most_threads && threads * 64 < V) threads *= 2;
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

/// A row of probabilities is read four at a time, so its length is a multiple of four.
__host__ __device__ constexpr int padded(int V) { return (V + 3) / 4 * 4; }

/// The workspace. With many blocks per row each leaves something for its chunk.
struct SampleMemory {
  Key* best;        ///< (N, chunks): the chunk's best key
  double* sum;      ///< (N, chunks): of exponentials
  Key* rest;        ///< (N, bins), see Histogram
  unsigned* count;  ///< (N, bins)
  float* p;         ///< (N, padded(V)): exponentials, then probabilities; 0 beyond V
  int chunks;       ///< of a row
};

/// sample_workspace(N, V) bytes as what they hold, each part a multiple of 16 bytes.
inline SampleMemory sample_memory(void* workspace, int N, int V) {
  const int chunks = ceil_div(V, chunk);
  auto* p = static_cast<float*>(workspace);
  auto* rest = reinterpret_cast<Key*>(p + size_t(N) * padded(V));
  auto* count = reinterpret_cast<unsigned*>(rest + size_t(N) * bins);
  auto* best = reinterpret_cast<Key*>(count + size_t(N) * bins);
  auto* sum = reinterpret_cast<double*>(best + size_t(N) * chunks);
  return {best, sum, rest, count, p, chunks};
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

/// Neighbouring ids.
struct Ids {
  int begin, end;
  /// Part `at` of `parts`, in order, all but the last ones of the same size: a multiple of `of`.
  __device__ Ids part(int at, int parts, int of) const {
    const int ids = (end - begin + parts * of - 1) / (parts * of) * of, first = min(begin + at * ids, end);
    return {first, min(first + ids, end)};
  }
};

/// The sum of x(id, p[id]) over this thread's share of `ids`, 16 bytes a load: the other threads' are shares 0 to
/// `shares`. ids.begin is a multiple of four. Behind the last id, p is 0 and so must x be.
template <class Value>
__device__ inline double sum_of_share(const float* p, const Ids& ids, int share, int shares, const Value& x) {
  double sum = 0;
#pragma unroll 4
  for (int id = ids.begin + 4 * share; id < ids.end; id += 4 * shares) {
    const Few<4> few = load<4>(p + id);
    for (int i = 0; i < 4; ++i) sum += x(id + i, few.at[i]);
  }
  return sum;
}

/// The sum of x(id, p[id]) over all ids.
template <class Value>
__device__ inline double row_sum(const float* p, int V, const Value& x) {
  return block_sum(sum_of_share(p, {0, V}, threadIdx.x, blockDim.x, x));
}

/// The id at which the running sum of x(id, p[id]) first reaches `target` (`beyond`: exceeds it), or V. x gives at
/// least 0.
template <class Value>
__device__ inline int reach(const float* p, int V, double target, bool beyond, const Value& x) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const auto there = [&](double sum) { return beyond ? sum > target : sum >= target; };

  // In which warp's part? What a warp sums comes before what the next one does.
  const Ids all = {0, V};
  const double sum = warp_sum(sum_of_share(p, all.part(warp, warps, 4), lane, 32, x));
  const double before = block_sum_before(lane == 0 ? sum : 0);
  const int first = first_thread(lane == 0 && sum > 0 && there(before + sum));
  if (first == int(blockDim.x)) return V;

  // In which thread's part of that?
  const Ids own = all.part(first / 32, warps, 4).part(threadIdx.x, blockDim.x, 1);
  double piece = 0;
  int last = own.begin;  // that adds something
  for (int id = own.begin; id < own.end; ++id) {
    piece += x(id, p[id]);
    if (x(id, p[id]) > 0) last = id;
  }
  double running = from_thread(first, before) + block_sum_before(piece);
  int thread = first_thread(piece > 0 && there(running + piece));
  // The two sums can round to either side of the target: then it is the last that adds something.
  if (thread == int(blockDim.x)) thread = block_max(piece > 0 ? int(threadIdx.x) : 0);
  int id = own.begin;
  for (; id < last; ++id) {
    running += x(id, p[id]);
    if (x(id, p[id]) > 0 && there(running)) break;
  }
  return from_thread(thread, id);
}

/// Tells ties apart.
__device__ inline Kept kept_of(const Cut& cut, const float* p, int V) {
  if (cut.ties == INT_MAX) return {cut.bits, V};
  const auto tie = [&](int, float x) { return __float_as_uint(x) == cut.bits ? 1.0 : 0.0; };
  return {cut.bits, reach(p, V, cut.ties, false, tie)};
}

/// The token that the draw falls on, from the probabilities p (V) of the whole vocabulary. select(by_count, target)
/// gives the cut at which the number, or else the sum, of the most probable reaches the target.
template <class Select>
__device__ inline int choose(const float* p, int V, const Draw& draw, const Select& select) {
  Kept kept = {0, V};
  const auto kept_sum = [&] {
    return row_sum(p, V, [&](int id, float x) { return kept.has(x, id) ? double(x) : 0.0; });
  };
  const bool some_k = draw.top_k > 0 && draw.top_k < V, some_p = draw.top_p < 1, some = some_k || some_p;
  Cut cut = {0, INT_MAX};
#pragma unroll 1
  for (int way = 0; way < 2; ++way) {
    const bool by_count = way == 0;  // then by their sum
    if (by_count ? !some_k : !some_p) continue;
    const Cut next = select(by_count, by_count ? draw.top_k : draw.top_p * kept_sum());
    if (next.bits < cut.bits || (next.bits == cut.bits && next.ties >= cut.ties)) continue;
    kept = kept_of(cut = next, p, V);
  }
  const double sum = some ? kept_sum() : 1;  // all together they sum to 1 already

  const auto probability = [&](int id, float x) {
    if (!kept.has(x, id)) return 0.0;
    return double(some ? float(x / sum) : x);
  };
  const int id = reach(p, V, draw.draw, true, probability);
  if (id < V) return id;
  int last = 0;  // with a probability at all: rounding can leave the whole sum just below the draw
  for (int i = threadIdx.x; i < V; i += blockDim.x)
    if (probability(i, p[i]) > 0) last = i;
  return block_max(last);
}

}  // namespace rungs
