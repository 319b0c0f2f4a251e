/// Rung 2: one pass and no scores in memory. With each key the largest score so far may grow; what was summed under the
/// old one is then scaled by exp(old - new), which is what the sum would have been. Each warp still reads all its keys
/// and values for one query alone.
#include <cfloat>
#include <cmath>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/parts.cuh"
#include "kernels/warp.cuh"

namespace rungs {

/// One warp per query and head; lane l holds elements l, l + 32, ... of the query and of the result, so that a key or
/// value is read by neighbouring lanes.
/// out, q: (T, H, D); k, v: (S, G, D); D <= WIDTH.
template <int WIDTH>
__global__ void attention_online(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G,
                                 int D, float scale) {
  constexpr int parts = WIDTH / 32;                                   // elements a lane holds
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;  // t * H + h
  const int lane = threadIdx.x % 32;
  if (row >= T * H) return;  // the whole warp leaves together, so warp_sum stays legal
  const int seen = S - T + row / H + 1, g = row % H / (H / G);
  k += size_t(g) * D;  // k[0, g, :]
  v += size_t(g) * D;

  float query[parts], sum[parts];
  for (int i = 0; i < parts; ++i) {
    const int d = lane + 32 * i;
    query[i] = d < D ? q[size_t(row) * D + d] : 0.0f;
    sum[i] = 0.0f;  // Σ exp(score - largest) · v
  }
  float largest = -FLT_MAX, total = 0.0f;  // of the keys so far; Σ exp(score - largest)
  for (int s = 0; s < seen; ++s) {
    const size_t at = size_t(s) * G * D;
    float product = 0.0f;
    for (int i = 0; i < parts; ++i) {
      const int d = lane + 32 * i;
      if (d < D) product += query[i] * k[at + d];
    }
    const float score = warp_sum(product) * scale;
    const float old = largest;
    largest = fmaxf(largest, score);
    const float shrink = expf(old - largest), weight = expf(score - largest);
    total = total * shrink + weight;
    for (int i = 0; i < parts; ++i) {
      const int d = lane + 32 * i;
      if (d < D) sum[i] = sum[i] * shrink + weight * v[at + d];
    }
  }
  for (int i = 0; i < parts; ++i) {
    const int d = lane + 32 * i;
    if (d < D) out[size_t(row) * D + d] = sum[i] / total;
  }
}

void attention_02(float* out, const float* q, const float* k, const float* v, int T, int S, int H, int G, int D,
                  cudaStream_t stream) {
  check_attention(T, S, H, G, D);
  constexpr int warps = 4;  // rows per block
  with_width(D, [&](auto width) {
    launch(attention_online<width()>, {ceil_div(T * H, warps), warps * 32, 0, stream}, out, q, k, v, T, S, H, G, D,
           1.0f / std::sqrt(float(D)));
  });
}

}  // namespace rungs
