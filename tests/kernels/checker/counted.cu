// Accesses of one warp whose traffic is known; the lines are marked for count_test.cpp.
#include "checker/counted.hpp"

namespace rungs::test {
namespace {

__global__ void global_loads(float* out, const float* in) {
  const int t = threadIdx.x;
  float sum = in[t];                                           // count: coalesced
  sum += in[2 * t];                                            // count: stride 2
  sum += in[32 * t];                                           // count: stride 32
  sum += in[t + 1];                                            // count: one off
  sum += in[7];                                                // count: broadcast
  sum += reinterpret_cast<const float4*>(in)[t].x;             // count: one of four
  const float4 four = reinterpret_cast<const float4*>(in)[t];  // count: float4
  if (t < 3) sum += in[t + 64];                                // count: three lanes
  const float3* threes = reinterpret_cast<const float3*>(in);
  sum += threes[t].x + threes[t].y + threes[t].z;  // count: float3
  float* aside = out + 128;
  reinterpret_cast<float4*>(aside)[t] = four;  // count: float4 store
  out[t] = sum;                                // count: coalesced store
}

__global__ void shared_loads(float* out) {
  __shared__ __align__(16) float tile[32 * 33];
  const int t = threadIdx.x;
  for (int i = 0; i < 33; ++i) tile[32 * i + t] = 1.0f;  // count: rows
  __syncwarp();
  float sum = tile[t];                                        // count: no conflict
  sum += tile[2 * t];                                         // count: two ways
  sum += tile[32 * t];                                        // count: column
  sum += tile[33 * t];                                        // count: padded column
  sum += tile[5];                                             // count: same word
  const float4 four = reinterpret_cast<float4*>(tile)[t];     // count: shared float4
  const float4 far = reinterpret_cast<float4*>(tile)[2 * t];  // count: float4 two ways
  const float2 two = reinterpret_cast<float2*>(tile)[t];      // count: shared float2
  sum += reinterpret_cast<unsigned char*>(tile)[t];           // count: bytes
  out[t] = sum + four.x + four.y + four.z + four.w + far.x + far.y + far.z + far.w + two.x + two.y;
}

__global__ void loop(float* out, const float* in, int n) {
  float sum = 0.0f;
  for (int i = int(threadIdx.x); i < n; i += 64) sum += in[i];  // count: loop
  __syncthreads();
  for (int i = int(threadIdx.x); i < n; i += 64) sum += in[i];  // count: loop again
  atomicAdd(out, sum);                                          // count: atomic
}

}  // namespace

void run_global_loads(float* out, const float* in) { launch(global_loads, {1, 32}, out, in); }
void run_shared_loads(float* out) { launch(shared_loads, {1, 32}, out); }
void run_loop(float* out, const float* in, int n) { launch(loop, {2, 64}, out, in, n); }
std::string counted_source() { return __FILE__; }

}  // namespace rungs::test
