// Lesson 17: five rungs, one product; what each reads of global memory, and how long it takes.
#include <fmt/format.h>

#include <cmath>

#include "16_cuda_first/lesson.hpp"
#include "kernels/device_memory.hpp"
#include "lesson.hpp"
#include "rungs/measure/measure.hpp"

using namespace rungs;

struct Rung {
  const char* name;
  decltype(&lesson_17::matmul_tiled) product;
  int reads;  ///< of global memory, each of one float, for one product of two floats; as one over this
};

int main() {
  // A thread without tiles reads a float of a and one of b for each product. A tile of side s is read once and used s
  // times, so that one float of either serves s products.
  const Rung rungs[] = {{"naive (lesson 16)", lesson_16::matmul, 1},
                        {"coalesced", lesson_17::matmul_coalesced, 1},
                        {"tiled, 32 by 32", lesson_17::matmul_tiled, 32},
                        {"registers, 64 by 64", lesson_17::matmul_registers, 64},
                        {"vectorized, 64 by 64", lesson_17::matmul_vectorized, 64},
                        {"8 by 8, 128 by 128", lesson_17::matmul_8x8, 128}};

  constexpr int M = 128, N = 256, K = 192;
  Tensor a({M, K}), b({K, N});  // small integers: every sum is exact, in any order
  for (int64_t i = 0; i < a.count(); ++i) a.flat(i) = float(i * 7 % 11 - 5);
  for (int64_t i = 0; i < b.count(); ++i) b.flat(i) = float(i * 5 % 13 - 6);
  const Tensor device_a = to_device(a), device_b = to_device(b);

  Tensor first;  // what lesson 16 gives
  fmt::print("c ({}, {}) = a ({}, {}) · b ({}, {})\n\n", M, N, M, K, K, N);
  fmt::print("{:<24}{:>22}{:>22}\n", "rung", "floats read, millions", "as lesson 16 has it");
  for (const Rung& rung : rungs) {
    Tensor c = device_tensor({M, N});  // (M, N)
    rung.product(c.data(), device_a.data(), device_b.data(), M, N, K, nullptr);
    Tensor made = to_host(c);
    if (!first) first = made.copy();
    int64_t equal = 0;
    for (int64_t i = 0; i < made.count(); ++i) equal += made.flat(i) == first.flat(i);
    fmt::print("{:<24}{:>22.3f}{:>22}\n", rung.name, 2e-6 * M * N * K / rung.reads,
               equal == made.count() ? "all equal" : "different");
  }

  fmt::print("\nin the emulator on this CPU\n");
  Tensor c = device_tensor({M, N});
  for (const Rung& rung : rungs) {
    const Timing t = measure([&] { rung.product(c.data(), device_a.data(), device_b.data(), M, N, K, nullptr); }, 0.1);
    fmt::print("time of {}: {:.2f} ms\n", rung.name, 1e3 * t.seconds);
  }
}
