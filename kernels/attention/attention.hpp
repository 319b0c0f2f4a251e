/// Attention on the device, a rung a file. Each rung gives, for every query t and head h,
/// out = Σ softmax(q · k / √D) · v over the keys that t may see: query t stands at S - T + t and sees keys 0 to there.
/// Query head h reads key/value head h / (H / G).  Vaswani and others 2017, "Attention Is All You Need", equation 1;
/// Ainslie and others 2023, "GQA".
///
/// All pointers are on the device; G divides H, 1 <= T <= S, 1 <= D <= 256. A launcher does not wait for its kernels.
/// `out` may not overlap an input. For T queries of one sequence whose cache begins at k and v, S = start + T reads the
/// past and the run itself. Rows that begin at multiples of 16 bytes are read fastest.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/rope/rope.hpp"

namespace rungs {

/// \throws ShapeError when no rung takes these sizes. `in_pairs`: RoPE turns the numbers of a head, two by two.
void check_attention(int T, int S, int H, int G, int D, bool in_pairs = false);

/// Rung 1, naive: three kernels with all scores in memory between them.
/// out, q: (T, H, D); k, v: (S, G, D); scores: (H, T, S), scratch. \throws ShapeError, CudaError, as all rungs do
void attention_01(float* out, const float* q, const float* k, const float* v, float* scores, int T, int S, int H, int G,
                  int D, cudaStream_t stream);

/// Rung 2, online softmax: a warp per query and head, one pass over the keys, nothing in memory between.
/// out, q: (T, H, D); k, v: (S, G, D).  Milakov, Gimelshein 2018, "Online normalizer calculation for softmax".
void attention_02(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                  cudaStream_t stream);

/// Rung 3, tiles: a block per tile of queries and head, tiles of keys and values in shared memory, sums in registers.
/// out, q: (T, H, D); k, v: (S, G, D).  Dao and others 2022, "FlashAttention"; Dao 2023, "FlashAttention-2",
/// algorithm 1.
void attention_03(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                  cudaStream_t stream);

/// Rung 4, split keys: the rung for decoding, where there are few queries and many keys. Blocks share out the keys of a
/// row and one more kernel combines what they found; the query heads of a key/value head share each read of it. The
/// launch depends on N, G and `keys` alone, not on positions, so that a CUDA graph of it can be replayed; the same
/// `keys` give the same bits from a contiguous cache and from a paged one, whose blocks lie anywhere.
/// out, q: (N, H, D); row n sees keys 0 to position[n] of its sequence, position[n] < keys; workspace:
/// attention_04_workspace(...) floats.
/// Dao and others 2023, "Flash-Decoding for long-context inference"; Kwon and others 2023, "Efficient memory management
/// for large language model serving with PagedAttention".
void attention_04(float* out, const float* q, const CacheRows& cache, float* workspace, int N, int keys, int H, int G,
                  int D, cudaStream_t stream);
/// How many floats attention_04 wants as workspace; it never grows when N shrinks.
size_t attention_04_workspace(int N, int keys, int H, int G, int D);

/// Rung 5, tensor cores: rung 3 with mma.sync, each f32 as the sum of three bf16, so that the result is as good as that
/// of f32. The rung for prefill; for D above 128 it is rung 3. out, q: (T, H, D); k, v: (S, G, D).
void attention_05(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                  cudaStream_t stream);
/// The same of q, k, v and weights rounded to bf16; for D above 128 it is rung 3, which rounds nothing.
void attention_05_rounded(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                          cudaStream_t stream);

/// Rung 6, one launch: rope_02_append and rung 4 in one kernel, for decoding. q and k stay as they were; the rotated
/// key and v go into the cache at position[n] of their sequence. The launch depends on N, G and `keys` alone.
/// out, q: (N, H, D); k, v: (N, G, D), D even; the rows are of different sequences, as none sees another's new key;
/// position[n] < keys; workspace: attention_04_workspace(...) floats; counters: (N, H), 0 before the first launch, and
/// each launch leaves them so.
void attention_06(float* out, const float* q, const float* k, const float* v, const CacheRows& cache,
                  const RopePointers& rotary, float* workspace, unsigned* counters, int N, int keys, int H, int G,
                  int D, cudaStream_t stream);

}  // namespace rungs
