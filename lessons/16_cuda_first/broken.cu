// Two kernels that are wrong on purpose: one for the checker, one for a debugger.
#include <fmt/format.h>

#include <string_view>

#include "kernels/device_memory.hpp"
#include "kernels/launch.cuh"
#include "rungs/base/text.hpp"

using namespace rungs;

/// total = the sum of x.  total: (1), 0 at the start; x: (n)
__global__ void sum_kernel(float* total, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) *total += x[i];
}

/// Each element becomes the mean of itself and its right neighbour; that of the last is the first.  out, x: (n)
__global__ void mean_kernel(float* out, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int right = (threadIdx.x + 1) % blockDim.x;
  out[i] = (x[i] + x[right]) / 2;
}

static int for_the_checker(const Tensor& x) {
  const Tensor zero({1}, DType::i32);
  Tensor total = to_device(Tensor::view_of(zero.raw(), {1}, DType::f32));
  launch(sum_kernel, {2, 4}, total.data(), x.data(), 8);
  fmt::print("the sum is {}, and should be 36\n", to_host(total)(0));
  return 1;
}

static int for_the_debugger(const Tensor& x) {
  Tensor out = device_tensor({8});
  launch(mean_kernel, {2, 4}, out.data(), x.data(), 8);
  const Tensor means = to_host(out);
  for (int i = 0; i < 8; ++i) fmt::print("{}: {}, and should be {}\n", i, means(i), i < 7 ? i + 1.5 : 4.5);
  return 1;
}

int main(int argc, char** argv) try {
  Tensor x({8});  // 1 to 8
  for (int i = 0; i < 8; ++i) x(i) = float(i + 1);
  const bool checker = argc == 2 && argv[1] == std::string_view("checker");
  return checker ? for_the_checker(to_device(x)) : for_the_debugger(to_device(x));
} catch (const CudaError& e) {
  fmt::print("{}\n", wrapped(e.what(), 100, ""));
  return 1;
}
