#include "lesson.hpp"

namespace lesson_01 {

int64_t offset(int64_t row, int64_t column, [[maybe_unused]] int64_t rows, [[maybe_unused]] int64_t columns) {
  // >>> return how many elements stand before (row, column) when the matrix lies in memory row after row
  return row * columns + column;
  // <<<
}

void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const int64_t T = x.dim(0), C = x.dim(1), N = weight.dim(0);

  // >>> out (t, n) = bias n + the dot product of row t of x and row n of weight; all through flat(offset(...))
  for (int64_t t = 0; t < T; ++t)
    for (int64_t n = 0; n < N; ++n) {
      float sum = bias.flat(n);
      for (int64_t c = 0; c < C; ++c) sum += x.flat(offset(t, c, T, C)) * weight.flat(offset(n, c, N, C));
      out.flat(offset(t, n, T, N)) = sum;
    }
  // <<<
}

}  // namespace lesson_01
