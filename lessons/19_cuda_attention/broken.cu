// Two kernels that are wrong on purpose: one for the checker, one for a debugger. In both a warp attends to the few
// keys of one query, a lane for each.
#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "kernels/device_memory.hpp"
#include "kernels/launch.cuh"
#include "kernels/warp.cuh"
#include "rungs/base/text.hpp"

using namespace rungs;

constexpr int keys = 32, width = 4;  // of a tile, and D

/// out = softmax(q · kᵀ / √D) · v.  out, q: (D); k, v: (S, D), S at most 32
__global__ void attend_in_a_hurry(float* out, const float* q, const float* k, const float* v, int S) {
  __shared__ float weights[keys], v_tile[keys][width];
  const int s = threadIdx.x;
  float score = s < S ? 0.0f : -INFINITY;  // a key that does not exist gets weight 0
  for (int d = 0; d < width && s < S; ++d) {
    score += q[d] * k[s * width + d] / sqrtf(width);
    v_tile[s][d] = v[s * width + d];
  }
  const float weight = expf(score - warp_max(score));
  weights[s] = weight / warp_sum(weight);
  __syncwarp();
  if (s >= width) return;
  float sum = 0;
  for (int j = 0; j < keys; ++j) sum += weights[j] * v_tile[j][s];
  out[s] = sum;
}

/// The same.
__global__ void attend_with_care(float* out, const float* q, const float* k, const float* v, int S) {
  __shared__ float weights[keys], query[width];
  const int s = threadIdx.x;
  if (s < width) query[s] = q[s] / sqrtf(width);
  __syncwarp();
  float score = s < S ? 0.0f : -INFINITY;
  for (int d = 0; d < width && s < S; ++d) score += query[d] * k[s * width + d] / sqrtf(width);
  const float weight = expf(score - warp_max(score));
  weights[s] = weight / warp_sum(weight);
  __syncwarp();
  if (s >= width) return;
  float sum = 0;
  for (int j = 0; j < S; ++j) sum += weights[j] * v[j * width + s];
  out[s] = sum;
}

int main(int argc, char** argv) try {
  constexpr int S = 3;
  Tensor q({width}), k({S, width}), v({S, width});
  for (int d = 0; d < width; ++d) q(d) = float(d), k(0, d) = 1, k(1, d) = 2, k(2, d) = float(d);
  for (int s = 0; s < S; ++s)
    for (int d = 0; d < width; ++d) v(s, d) = float(10 * s + d);
  const bool checker = argc == 2 && argv[1] == std::string_view("checker");
  const auto attend = checker ? attend_in_a_hurry : attend_with_care;
  const Tensor device_q = to_device(q), device_k = to_device(k), device_v = to_device(v);
  Tensor out = device_tensor({width});
  launch(attend, {1, keys}, out.data(), device_q.data(), device_k.data(), device_v.data(), S);
  const Tensor made = to_host(out);
  fmt::print("out: {:.3f} {:.3f} {:.3f} {:.3f}\n", made(0), made(1), made(2), made(3));
  return 1;
} catch (const CudaError& e) {
  fmt::print("{}\n", wrapped(e.what(), 100, ""));
  return 1;
}
