// Lesson 16: which thread makes which number, and two memories.
#include <fmt/format.h>

#include "kernels/device_memory.hpp"
#include "lesson.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/tensor/print.hpp"

using namespace rungs;

/// Each thread leaves its own numbers where its element would be.  block, thread: (n)
__global__ void who_am_i(int* block, int* thread, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  block[i] = int(blockIdx.x);
  thread[i] = int(threadIdx.x);
}

static void print_whole(const char* name, const Tensor& numbers) {
  fmt::print("  {:<10}", name);
  for (int64_t i = 0; i < numbers.count(); ++i) fmt::print("{:>4}", int(numbers.value(i)));
  fmt::print("\n");
}

int main() {
  constexpr int n = 10, threads = 4;
  Tensor block = device_tensor({n}, DType::i32), thread = device_tensor({n}, DType::i32);  // (n)
  launch(who_am_i, {ceil_div(n, threads), threads}, block.data<int32_t>(), thread.data<int32_t>(), n);
  Tensor element({n}, DType::i32);
  for (int i = 0; i < n; ++i) element.data<int32_t>()[i] = i;
  fmt::print("{} elements, {} blocks of {} threads: who makes which\n", n, ceil_div(n, threads), threads);
  print_whole("element", element);
  print_whole("blockIdx", to_host(block));
  print_whole("threadIdx", to_host(thread));

  Tensor x({n}), y({n}), sum({n});  // (n), in the memory of the host
  for (int i = 0; i < n; ++i) x(i) = float(i), y(i) = float(10 * i);
  lesson_16::add_from_host(sum.data(), x.data(), y.data(), n);
  print_whole("x + y", sum);

  Tensor a({2, 3}), b({3, 4});  // (M, K), (K, N)
  for (int64_t i = 0; i < a.count(); ++i) a.flat(i) = float(i + 1);
  for (int64_t i = 0; i < b.count(); ++i) b.flat(i) = float(i % 5);
  const Tensor device_a = to_device(a), device_b = to_device(b);
  Tensor c = device_tensor({2, 4});  // (M, N)
  lesson_16::matmul(c.data(), device_a.data(), device_b.data(), 2, 4, 3, nullptr);
  print("\na", a);
  print("b", b);
  print("c = a · b", to_host(c));

  try {
    launch(who_am_i, {1, 2048}, block.data<int32_t>(), thread.data<int32_t>(), n);
  } catch (const CudaError& e) {
    fmt::print("\na block of 2048 threads: {}\n", e.what());
  }

  constexpr int many = 1 << 20;
  const Tensor on_host = Tensor({many}, DType::i32);  // zeros
  Tensor total({many});
  const auto zeros = reinterpret_cast<const float*>(on_host.data<int32_t>());
  const Timing there_and_back = measure([&] { lesson_16::add_from_host(total.data(), zeros, zeros, many); }, 0.2);
  fmt::print("\ntime of adding a million numbers, there and back, in the emulator on this CPU: {:.2f} ms\n",
             1e3 * there_and_back.seconds);
}
