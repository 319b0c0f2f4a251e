// Two kernels that are wrong on purpose: one for the checker, one for a debugger. Both transpose a matrix by tiles.
#include <fmt/format.h>

#include <string_view>

#include "kernels/device_memory.hpp"
#include "kernels/launch.cuh"
#include "rungs/base/text.hpp"

using namespace rungs;

constexpr int side = 4;  // of a tile

/// out = x on its side.  out: (columns, rows); x: (rows, columns), both multiples of `side`
__global__ void transpose_in_a_hurry(float* out, const float* x, int rows, int columns) {
  __shared__ float tile[side][side];
  const int row = blockIdx.y * side + threadIdx.y, column = blockIdx.x * side + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  const int out_row = blockIdx.x * side + threadIdx.y, out_column = blockIdx.y * side + threadIdx.x;
  out[out_row * rows + out_column] = tile[threadIdx.x][threadIdx.y];
}

/// The same.
__global__ void transpose_with_care(float* out, const float* x, int rows, int columns) {
  __shared__ float tile[side][side];
  const int row = blockIdx.y * side + threadIdx.y, column = blockIdx.x * side + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  __syncthreads();
  const int out_row = blockIdx.x * side + threadIdx.y, out_column = blockIdx.y * side + threadIdx.x;
  out[out_row * rows + out_column] = tile[threadIdx.y][threadIdx.x];
}

int main(int argc, char** argv) try {
  constexpr int rows = 4, columns = 8;
  Tensor x({rows, columns});
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = float(10 * (i / columns) + i % columns);
  const bool checker = argc == 2 && argv[1] == std::string_view("checker");
  const auto transpose = checker ? transpose_in_a_hurry : transpose_with_care;
  const Tensor on_device = to_device(x);
  Tensor out = device_tensor({columns, rows});
  launch(transpose, {dim3(columns / side, rows / side), dim3(side, side)}, out.data(), on_device.data(), rows, columns);
  const Tensor turned = to_host(out);
  for (int i = 0; i < columns; ++i)
    fmt::print("column {}: {:>2} {:>2} {:>2} {:>2}\n", i, turned(i, 0), turned(i, 1), turned(i, 2), turned(i, 3));
  return 1;
} catch (const CudaError& e) {
  fmt::print("{}\n", wrapped(e.what(), 100, ""));
  return 1;
}
