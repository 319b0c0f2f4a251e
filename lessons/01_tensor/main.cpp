// Lesson 1: how a matrix lies in memory, what a file of it holds, and the product that a transformer is made of.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "lesson.hpp"
#include "ops/cpu_ops.hpp"
#include "tensor/file.hpp"
#include "tensor/npy.hpp"
#include "tensor/print.hpp"

using namespace lesson_01;

static Tensor matrix_of(const Shape& shape, std::initializer_list<float> elements) {
  Tensor m(shape);
  std::copy(elements.begin(), elements.end(), m.data());
  return m;
}

/// Repeating fractions between 0 and 1: something to compute with.
static Tensor some(const Shape& shape) {
  Tensor m(shape);
  for (int64_t i = 0; i < m.count(); ++i) m.flat(i) = float(i * 37 % 101) / 101;
  return m;
}

/// Milliseconds of the fastest of five.
template <class Work>
static double time_of(const Work& work) {
  double best = 1e9;
  for (int n = 0; n < 5; ++n) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

int main() {
  // Each element says where it stands: 21 is row 2, column 1.
  const Tensor a = matrix_of({3, 4}, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23});
  print("a", a);
  fmt::print("in memory:");
  for (int64_t i = 0; i < a.count(); ++i) fmt::print(" {}", a.flat(i));
  const int64_t at = offset(2, 1, 3, 4);
  fmt::print("\nrow 2, column 1 is at offset {}: {}\n\n", at, a.flat(at));

  const auto file = std::filesystem::temp_directory_path() / fmt::format("rungs_{}.npy", getpid());
  save_npy(file, a);
  const std::string bytes = read_text(file);
  fmt::print("as an .npy file: {} bytes, the last {} of them the elements; the header says\n", bytes.size(), a.bytes());
  fmt::print("  {}\n\n", bytes.substr(10, bytes.find('}') - 9));
  print("read back", load_npy(file));
  std::filesystem::remove(file);

  const Tensor x = matrix_of({2, 3}, {1, 2, 3, 4, 0, -2});                             // (T, C)
  const Tensor weight = matrix_of({4, 3}, {1, 1, 1, 1, 0, 0, 0, 0.5, 0.5, -1, 0, 1});  // (N, C)
  const Tensor bias = matrix_of({4}, {0, 10, 0, 0.25});                                // (N)
  Tensor out({2, 4});                                                                  // (T, N)
  linear(out, x, weight, bias);
  fmt::print("\n");
  print("x", x);
  print("weight", weight, {"sum", "first + 10", "mean of the last two", "last - first"});
  print("bias", bias);
  print("x · weightᵀ + bias", out);

  CpuOps ops;
  const Tensor rows = some({64, 512}), square = some({512, 512}), shift = some({512});
  Tensor ours({64, 512}), theirs({64, 512});
  const double slow = time_of([&] { linear(ours, rows, square, shift); });
  const double fast = time_of([&] { ops.linear(theirs, rows, square, shift); });
  fmt::print("\n(64, 512) · (512, 512)ᵀ: {:.1f} million multiplications\n", 64 * 512 * 512 / 1e6);
  fmt::print("time of three loops: {:.1f} ms\ntime of the library: {:.2f} ms, {:.0f} times faster\n", slow, fast,
             slow / fast);

  const Tensor large = some({2048, 2048});
  float sum = 0;
  const auto walk = [&](bool along) {
    for (int64_t i = 0; i < 2048; ++i)
      for (int64_t j = 0; j < 2048; ++j)
        sum += along ? large.flat(offset(i, j, 2048, 2048)) : large.flat(offset(j, i, 2048, 2048));
  };
  fmt::print("time of reading (2048, 2048) along its rows: {:.1f} ms\n", time_of([&] { walk(true); }));
  fmt::print("time of reading it down its columns: {:.1f} ms\n", time_of([&] { walk(false); }));
  return sum > 0 ? 0 : 1;
}
