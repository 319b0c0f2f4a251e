/// Rotary positions, and how keys and values get into the cache.
#pragma once

#include <cuda_runtime.h>

namespace rungs {

/// The angles of each position: cos, sin: (context, D/2).
struct RopePointers {
  const float *cos, *sin;  ///< device pointers
};

/// One layer's cache: k, v: (B, capacity, G, D). Row n of a call goes to [sequence[n], position[n]], or in a paged
/// cache to the block that its sequence has for that position.
struct CacheRows {
  float *k, *v;                    ///< device pointers
  const int *sequence, *position;  ///< (N), on the device: in [0, B) and [0, capacity), or where it is paged from 0 on
  int capacity;                    ///< positions of a sequence, or of a block
  /// Of a paged cache, on the device: block tables one behind the other, and where in them that of row n begins, (N).
  const int *block_tables = nullptr, *first_block = nullptr;
};

/// Turns each pair (x[i], x[i + D/2]) of each head by the angle of its row's position, in place. x: (N, H, D), D even;
/// position: (N), each in [0, context). Su and others 2021, "RoFormer", equation 34, the pairs as halves of the head.
void rope_01(float* x, const RopePointers& rotary, const int* position, int N, int H, int D, cudaStream_t stream);

/// Turns q, turns k on its way into the cache, and copies v into it, in one launch; k itself stays as it was.
/// q: (N, H, D), in place; k, v: (N, G, D).
void rope_02_append(float* q, const CacheRows& cache, const float* k, const float* v, const RopePointers& rotary, int N,
                    int H, int G, int D, cudaStream_t stream);

/// The same from one product: q (N, H, D) = the turned first part of each row of qkv (N, (H + 2G) · D), which holds the
/// heads of q, then of k, then of v.
void rope_02_append_qkv(float* q, const CacheRows& cache, const float* qkv, const RopePointers& rotary, int N, int H,
                        int G, int D, cudaStream_t stream);

/// Copies k and v (N, G, D) into the cache without turning anything.
void append_01(const CacheRows& cache, const float* k, const float* v, int N, int G, int D, cudaStream_t stream);

/// k, v: (S, G, D) = what the cache holds for positions 0 to S - 1 of the sequence of row n.
void collect_01(float* k, float* v, const CacheRows& cache, int n, int S, int G, int D, cudaStream_t stream);

}  // namespace rungs
