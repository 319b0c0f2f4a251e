/// Lesson 19: attention that keeps no scores.
#pragma once

#include "kernels/launch.cuh"
#include "rungs/base/error.hpp"

/// Lesson 19, 19_cuda_attention.
namespace lesson_19 {

using namespace rungs;

/// How many queries and keys, heads and key/value heads, and how wide a head is: 1 <= T <= S, G divides H, D <= 256.
struct AttentionShape {
  int T, S, H, G, D;
};

/// N queries over a KV cache: each is the newest token of its sequence. k, v: (B, capacity, G, D)
struct CacheShape {
  int N, capacity, H, G, D;
};

/// \name Five ways to the same attention
/// Each head: out = softmax(mask(q · kᵀ / √D)) · v. Query t stands at S - T + t and sees keys 0 to there; query head h
/// reads key/value head h / (H / G).  out, q: (T, H, D); k, v: (S, G, D), in the memory of the device. None waits for
/// its kernels.
///@{

/// Three steps through memory.  scores: (H, T, S), scratch: afterwards the weights
void attention_naive(float* out, float* scores, const float* q, const float* k, const float* v, AttentionShape shape,
                     cudaStream_t stream);

/// One warp for each query and head goes over the keys once, with a softmax that is never finished and always right.
void attention_online(float* out, const float* q, const float* k, const float* v, AttentionShape shape,
                      cudaStream_t stream);

/// The same, and the warps of a block share the keys and values that they read.
void attention_tiled(float* out, const float* q, const float* k, const float* v, AttentionShape shape,
                     cudaStream_t stream);

/// Single queries, for decoding: row n is a query of sequence[n] at position[n], and sees its keys 0 to there. They are
/// dealt out to `splits` warps, and what these found is combined.  out, q: (N, H, D); k, v: (B, capacity, G, D);
/// sequence, position: (N), read on the device, so that one launch serves every step of a growing text;
/// partial: (N, H, splits, 2 + D), scratch: a warp's maximum, its sum, its weighted values
void attention_split(float* out, float* partial, const float* q, const float* k, const float* v, const int* sequence,
                     const int* position, CacheShape shape, int splits, cudaStream_t stream);

/// As attention_tiled, and what was found is rescaled once for each tile, not for each key (FlashAttention-2).
void attention_flash2(float* out, const float* q, const float* k, const float* v, AttentionShape shape,
                      cudaStream_t stream);
///@}

}  // namespace lesson_19
