// Lesson 1: how a matrix lies in memory, what its file holds, and the product that a transformer is made of.
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/npy.hpp"
#include "rungs/tensor/print.hpp"

using namespace lesson_01;

/// The elements in memory order, begun anew when they end.
static Tensor tensor_of(const Shape& shape, const std::vector<float>& elements) {
  Tensor m(shape);
  for (int64_t i = 0; i < m.count(); ++i) m.flat(i) = elements[size_t(i) % elements.size()];
  return m;
}

/// Prints the time of the fastest run of ten.
static void time(const char* what, const auto& work) {
  double best = 1e9;
  for (int n = 0; n < 10; ++n) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  fmt::print("time of {}: {:.2f} ms\n", what, best);
}

/// The sum of a square matrix, by steps of `inner` within steps of `outer`.
static float sum_of(const Tensor& m, int64_t outer, int64_t inner) {
  float sum = 0;
  for (int64_t i = 0; i < m.dim(0); ++i)
    for (int64_t j = 0; j < m.dim(0); ++j) sum += m.flat(i * outer + j * inner);
  return sum;
}

int main() {
  const Tensor a = tensor_of({2, 5}, {0, 1, 2, 3, 4, 10, 11, 12, 13, 14});  // 12 stands in row 1, column 2
  print("a", a);
  print("in memory", a.reshaped({10}));
  fmt::print("row 1, column 2 is at offset {}: {}\n\n", offset(1, 2, 2, 5), a.flat(offset(1, 2, 2, 5)));

  const auto file = std::filesystem::temp_directory_path() / fmt::format("rungs_{}.npy", getpid());
  save_npy(file, a);
  const std::string bytes = read_text(file);
  fmt::print("as an .npy file: {} bytes, the last {} are the elements; its header says\n", bytes.size(), a.bytes());
  fmt::print("  {}\n", bytes.substr(10, bytes.find('}') - 9));
  print("read back", load_npy(file));
  std::filesystem::remove(file);

  const Tensor x = tensor_of({2, 3}, {1, 2, 3, 4, 0, -2});                             // (T, C)
  const Tensor weight = tensor_of({4, 3}, {1, 1, 1, 1, 0, 0, 0, 0.5, 0.5, -1, 0, 1});  // (N, C)
  const Tensor bias = tensor_of({4}, {0, 10, 0, 0.25});                                // (N)
  Tensor out({2, 4});                                                                  // (T, N)
  linear(out, x, weight, bias);
  print("\nx", x);
  print("weight", weight, {"sum", "first", "mean of the last two", "last - first"});
  print("bias", bias);
  print("x · weightᵀ + bias", out);

  CpuOps ops;
  omp_set_num_threads(1);  // one core for each
  const Tensor rows = tensor_of({64, 512}, {1}), square = tensor_of({512, 512}, {1}), shift = tensor_of({512}, {1});
  Tensor product({64, 512});
  fmt::print("\n(64, 512) · (512, 512)ᵀ: {:.1f} million multiplications\n", 64 * 512 * 512 / 1e6);
  time("our three loops", [&] { linear(product, rows, square, shift); });
  time("the library", [&] { ops.linear(product, rows, square, shift); });
  const Tensor large = tensor_of({2048, 2048}, {1});
  volatile float sum;
  time("summing (2048, 2048) along the rows", [&] { sum = sum_of(large, 2048, 1); });
  time("summing it down the columns", [&] { sum = sum_of(large, 1, 2048); });
}
