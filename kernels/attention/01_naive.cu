/// Rung 1: the formula, a kernel a step. The scores of all heads stand in memory: written once, read and written by the
/// softmax, read again. At T = S = 4096 with 32 heads of width 128 that is 2 GiB, eight times what goes in and comes
/// out.
#include <cmath>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/parts.cuh"

namespace rungs {

/// A block per query and head, its threads share out the keys. Neighbouring threads read rows of k that lie G·D floats
/// apart, so the loads do not coalesce.
/// scores: (H, T, S), written as far as each query sees; q: (T, H, D); k: (S, G, D).
__global__ void attention_scores(float* scores, const float* q, const float* k, int S, int G, int D, float scale) {
  const int t = blockIdx.x, T = gridDim.x, h = blockIdx.y, H = gridDim.y;
  const int g = h / (H / G);
  const int seen = S - T + t + 1;  // the keys that query t may see
  const float* q_row = q + (size_t(t) * H + h) * D;
  float* scores_row = scores + (size_t(h) * T + t) * S;
  for (int s = threadIdx.x; s < seen; s += blockDim.x) {
    const float* k_row = k + (size_t(s) * G + g) * D;
    float sum = 0.0f;
    for (int d = 0; d < D; ++d) sum += q_row[d] * k_row[d];
    scores_row[s] = sum * scale;
  }
}

/// A thread per query and head: its row of scores becomes weights that sum to one.
/// scores: (H, T, S)
__global__ void attention_softmax(float* scores, int T, int S, int H) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;  // h * T + t
  if (row >= H * T) return;
  const int seen = S - T + row % T + 1;
  float* scores_row = scores + size_t(row) * S;
  float largest = scores_row[0];
  for (int s = 1; s < seen; ++s) largest = fmaxf(largest, scores_row[s]);
  float sum = 0.0f;
  for (int s = 0; s < seen; ++s) {
    scores_row[s] = expf(scores_row[s] - largest);  // at most 1: nothing overflows
    sum += scores_row[s];
  }
  for (int s = 0; s < seen; ++s) scores_row[s] /= sum;
}

/// A block per query and head, its threads share out the elements of the result.
/// out: (T, H, D); weights: (H, T, S); v: (S, G, D).
__global__ void attention_mix(float* out, const float* weights, const float* v, int S, int G, int D) {
  const int t = blockIdx.x, T = gridDim.x, h = blockIdx.y, H = gridDim.y;
  const int g = h / (H / G);
  const int seen = S - T + t + 1;
  const float* weights_row = weights + (size_t(h) * T + t) * S;
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    float sum = 0.0f;
    for (int s = 0; s < seen; ++s) sum += weights_row[s] * v[(size_t(s) * G + g) * D + d];
    out[(size_t(t) * H + h) * D + d] = sum;
  }
}

void attention_01(float* out, const float* q, const float* k, const float* v, float* scores, int T, int S, int H, int G,
                  int D, cudaStream_t stream) {
  check_attention(T, S, H, G, D);
  const dim3 rows(T, H);
  launch(attention_scores, {rows, 128, 0, stream}, scores, q, k, S, G, D, 1.0f / std::sqrt(float(D)));
  launch(attention_softmax, {ceil_div(H * T, 128), 128, 0, stream}, scores, T, S, H);
  launch(attention_mix, {rows, 64, 0, stream}, out, scores, v, S, G, D);
}

}  // namespace rungs
