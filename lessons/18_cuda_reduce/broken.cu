// Two kernels that are wrong on purpose: one for the checker, one for a debugger. Both let a warp agree on one number.
#include <fmt/format.h>

#include <string_view>

#include "kernels/device_memory.hpp"
#include "kernels/launch.cuh"
#include "rungs/base/text.hpp"

using namespace rungs;

constexpr unsigned all_lanes = 0xffffffffu;

/// *result = x · y.  x, y: (n)
__global__ void dot_in_a_hurry(float* result, const float* x, const float* y, int n) {
  float total = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    float product = x[i] * y[i];
    for (int distance = 16; distance > 0; distance /= 2) product += __shfl_xor_sync(all_lanes, product, distance);
    total += product;
  }
  if (threadIdx.x == 0) *result = total;
}

/// *result = where the largest of 32 numbers stands.  x: (32)
__global__ void place_of_the_largest(float* result, const float* x) {
  float value = x[threadIdx.x];
  int place = threadIdx.x;
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(all_lanes, value, distance);
    const int other_place = __shfl_xor_sync(all_lanes, place, distance);
    if (other > value) value = other;
    if (other > value) place = other_place;
  }
  if (threadIdx.x == 0) *result = float(place);
}

int main(int argc, char** argv) try {
  constexpr int n = 40;
  Tensor x({n});
  for (int i = 0; i < n; ++i) x(i) = i == 21 ? 50.0f : float(i % 7);
  const Tensor on_device = to_device(x);
  Tensor result = device_tensor({1});
  if (argc == 2 && argv[1] == std::string_view("checker"))
    launch(dot_in_a_hurry, {1, 32}, result.data(), on_device.data(), on_device.data(), n);
  else
    launch(place_of_the_largest, {1, 32}, result.data(), on_device.data());
  fmt::print("the largest of 32 numbers stands at {}\n", to_host(result)(0));
  return 1;
} catch (const CudaError& e) {
  fmt::print("{}\n", wrapped(e.what(), 100, ""));
  return 1;
}
