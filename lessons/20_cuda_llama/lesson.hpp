/// Lesson 20: a whole LLaMA that never leaves the device.
#pragma once

#include <vector>

#include "kernels/launch.cuh"
#include "rungs/base/error.hpp"
#include "rungs/model/llama.hpp"

namespace rungs {

/// What a call works in, all of it on the device. Planned once, for N rows or fewer.
struct StepBuffers {
  Tensor token, sequence, position;  ///< (N) i32: row n is token[n] of sequence[n] at position[n]
  Tensor x, normed;                  ///< (N, C)
  Tensor q, attn_out;                ///< (N, H, D)
  Tensor k, v;                       ///< (N, G, D)
  Tensor gate, up;                   ///< (N, F)
  Tensor partial;                    ///< (N, H, splits, 2 + D): what attention_split wants
  Tensor logits;                     ///< (N, V)
};

}  // namespace rungs

/// Lesson 20, 20_cuda_llama.
namespace lesson_20 {

using namespace rungs;

constexpr int splits = 8;  ///< warps that share out the keys of a query and head

/// logits of the first N rows that stand in `b`. Their keys and values go to their places in the cache, and what stands
/// before them there is read.  w: every tensor f32 and on the device; cache.layers[i].k, v: (B, capacity, G, D), there
/// too. Only launches: nothing is copied, nothing is waited for, nothing allocated.
void llama_forward(const LlamaWeights& w, const KvCache& cache, StepBuffers& b, int N, cudaStream_t stream);

/// After every step: ids[*count] = *token, the one just chosen; and *position and *count go on by one.
/// All on the device: ids: (steps) i32; count, token, position: one i32 each.
void advance(int* ids, int* count, const int* token, int* position, cudaStream_t stream);

/// Greedy decoding of one sequence, whose last token and its place stand in b.token[0], b.position[0], all earlier ones
/// in the cache: `steps` tokens, each fed in turn. A step is recorded as a CUDA graph and launched `steps` times; the
/// ids come back in one copy at the end.  ids, count: (steps), (1) i32, scratch on the device
std::vector<int32_t> decode(const LlamaWeights& w, const KvCache& cache, StepBuffers& b, Tensor& ids, Tensor& count,
                            int steps, cudaStream_t stream);

}  // namespace lesson_20
