/// Attention with many queries, in parts: a block of queries with a block of keys and values, whose scores stay in the
/// processor's caches.
#pragma once

#include <cstdint>

namespace rungs {

/// n, rounded up to whole panels: columns of a product below are read and written in these.
int64_t in_whole_panels(int64_t n);

/// A matrix of panels of columns, as products read it: element (i, column) of the panel that begins at column c stands
/// at data[c · column_step + i · row_step + column].
struct Panels {
  const float* data;
  int64_t row_step, column_step;
};

/// keysᵀ in panels of `room`, with 0 in columns that no key fills.  keys: n rows of D, each `stride` floats after the
/// one before; room: D · in_whole_panels(n), aligned to 64 bytes
Panels transposed_panels(float* room, const float* keys, int64_t n, int64_t D, int64_t stride);

/// out = x · b, or out += x · b if it `adds`.  x: `rows` rows of n; b: n rows; out: `rows` rows of as many columns, of
/// which whole panels are written. Rows of x and of out are x_stride and out_stride floats apart.
void product_with_panels(float* out, int64_t out_stride, const float* x, int64_t x_stride, int64_t rows, int64_t n,
                         const Panels& b, int64_t columns, bool adds);

/// One row of scores becomes weights, exp(score − largest), where `largest` is that of all scores until now, and their
/// sum is added to `sum`. Returns what all that was summed with the largest score before is to be multiplied by.
/// Milakov, Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3.  scores: n, a multiple of 16
float weigh(float* scores, int64_t n, float& largest, float& sum);

}  // namespace rungs
