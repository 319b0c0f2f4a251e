// Lesson 18: how the lanes of a warp come to one sum, and the rows that are made with it.
#include <fmt/format.h>

#include "kernels/device_memory.hpp"
#include "lesson.hpp"
#include "rungs/tensor/print.hpp"

using namespace rungs;

/// What each lane holds before and after each of the five shuffles.  held: (6, 32)
__global__ void sum_step_by_step(float* held) {
  const int lane = threadIdx.x;
  float value = float(lane);
  held[lane] = value;
  for (int step = 1; step <= 5; ++step) {
    value += __shfl_xor_sync(0xffffffffu, value, 32 >> step);
    held[step * 32 + lane] = value;
  }
}

/// The sum over a warp without shuffles: 32 numbers in shared memory, half of the lanes fewer at each step.
__global__ void sum_in_shared_memory(float* sum) {
  __shared__ float numbers[32];
  const int lane = threadIdx.x;
  numbers[lane] = float(lane);
  for (int distance = 16; distance > 0; distance /= 2) {
    __syncwarp();
    if (lane < distance) numbers[lane] += numbers[lane + distance];
  }
  if (lane == 0) *sum = numbers[0];
}

int main() {
  Tensor held = device_tensor({6, 32}), sum = device_tensor({1});
  launch(sum_step_by_step, {1, 32}, held.data());
  fmt::print("lane i begins with i; after each shuffle it holds\n  {:<12}", "lane");
  const int shown[] = {0, 1, 2, 3, 4, 8, 16, 31};
  for (const int lane : shown) fmt::print("{:>6}", lane);
  const Tensor lanes = to_host(held);
  for (int step = 0; step <= 5; ++step) {
    fmt::print("\n  {:<12}", step ? fmt::format("distance {}", 32 >> step) : "begins with");
    for (const int lane : shown) fmt::print("{:>6}", lanes(step, lane));
  }
  launch(sum_in_shared_memory, {1, 32}, sum.data());
  fmt::print("\nthe same sum through shared memory: {}\n\n", to_host(sum)(0));

  constexpr int N = 3, C = 6;
  Tensor x({N, C}), weight({C});  // (N, C), (C)
  for (int c = 0; c < C; ++c)
    x(0, c) = float(c), x(1, c) = 95 + float(c), x(2, c) = c % 2 ? 1.0f : -1.0f, weight(c) = 1;
  const std::vector<std::string> names = {"zero to five", "plus 95", "both signs"};
  const Tensor device_x = to_device(x), device_weight = to_device(weight);
  Tensor sums = device_tensor({N}), out = device_tensor({N, C});
  print("x", x, names);
  lesson_18::row_sum(sums.data(), device_x.data(), N, C, nullptr);
  print("row_sum of x", to_host(sums).reshaped({N, 1}), names);
  lesson_18::softmax(out.data(), device_x.data(), N, C, nullptr);
  print("softmax of x", to_host(out), names);
  lesson_18::rms_norm(out.data(), device_x.data(), device_weight.data(), N, C, 1e-5f, nullptr);
  print("rms_norm of x", to_host(out), names);

  // A row of any length: what one block of 256 threads makes of it.
  fmt::print("\nthe sum of C ones, by a block of 256 threads\n");
  for (const int columns : {1, 31, 32, 33, 256, 257, 1000, 128256}) {
    Tensor ones({1, columns});
    for (int c = 0; c < columns; ++c) ones(0, c) = 1;
    const Tensor row = to_device(ones);
    lesson_18::row_sum(sums.data(), row.data(), 1, columns, nullptr);
    fmt::print("  C = {:<8} {}\n", columns, to_host(sums)(0));
  }
}
