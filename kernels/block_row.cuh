/// A row that a whole block works on.
#pragma once

#include "kernels/floats.cuh"

namespace rungs {

/// The block's row of C floats, spread over its threads `width` neighbours at a time. The first pieces of each thread
/// stay in its registers, so that the second pass over a row does not read it again; of a row that is too long for
/// that, the rest is read again.
template <int width>
struct BlockRow {
  static constexpr int kept = 4;  ///< pieces of a thread that stay
  const float* row;               ///< (C)
  int C;                          ///< columns
  Few<width> piece[kept];         ///< of this thread

  /// Reads the row.
  __device__ BlockRow(const float* x_n, int columns) : row(x_n), C(columns) {
#pragma unroll
    for (int i = 0; i < kept; ++i)
      if (column(i) < C) piece[i] = load<width>(row + column(i));
  }

  /// work(c, x) for each of this thread's pieces: x holds the elements from c on, and may be changed; a change of what
  /// did not stay is lost unless `work` writes it to the row.
  template <class Work>
  __device__ void each(const Work& work) {
#pragma unroll
    for (int i = 0; i < kept; ++i)
      if (column(i) < C) work(column(i), piece[i]);
    for (int c = column(kept); c < C; c += int(blockDim.x) * width) {
      Few<width> x = load<width>(row + c);
      work(c, x);
    }
  }

 private:
  __device__ int column(int i) const { return (i * int(blockDim.x) + int(threadIdx.x)) * width; }
};

constexpr int longest_block = 1024;  ///< threads that a kernel of BlockRow is compiled for

/// Threads for a block that works on a row of C: as few whole warps as keep it in registers, if longest_block can.
inline int threads_for_row(int C, int width) {
  const int threads = ceil_div(C, width * BlockRow<1>::kept);
  return threads > longest_block ? longest_block : ceil_div(threads, 32) * 32;
}

}  // namespace rungs
