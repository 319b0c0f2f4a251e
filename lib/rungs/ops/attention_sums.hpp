/// The two sums of attention with one query a head, over keys and values that lie in the caches.
#pragma once

#include <cstdint>

namespace rungs {

/// H query heads of width D, each group of H / G of which shares the keys and values of one head.
struct Heads {
  int64_t H, G, D;
};

/// scores[h, s] = q[h] · keys[s, h / (H / G)] for n keys.  q: (H, D); keys: (n, G, D); scores: H rows of n, each
/// `stride` floats after the one before.
void dots_with_keys(float* scores, int64_t stride, const float* q, const float* keys, int64_t n, const Heads& heads);

/// out[h] += Σ over s of weights[h, s] · values[s, h / (H / G)], from the first to the last of n values.  values: (n,
/// G, D); out and weights: H rows of D and of n, each `stride` floats after the one before.
void add_weighted_values(float* out, const float* weights, int64_t stride, const float* values, int64_t n,
                         const Heads& heads);

}  // namespace rungs
