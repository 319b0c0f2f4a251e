/// The kernel of rung 4, which the fused products share. What differs is a job: which rows of weights there are, and
/// where their sums go.
#pragma once

#include "kernels/gemv/chunks.cuh"
#include "kernels/overlap.cuh"
#include "kernels/warp.cuh"

namespace rungs {

constexpr int gemv_rows_per_warp = 4;  ///< weight rows that a warp walks along together
constexpr int gemv_warps = 8;          ///< of a block

/// Four sums over a warp at once: lane l gets that of x[l % 4]. In the first two steps the lanes that exchange split
/// the numbers between them, so that 6 shuffles do, where four times warp_sum takes 20.
__device__ inline float warp_sum_of_4(const float (&x)[4]) {
  const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
  const float first = (odd ? x[1] : x[0]) + __shfl_xor_sync(whole_warp, odd ? x[0] : x[1], 1);
  const float second = (odd ? x[3] : x[2]) + __shfl_xor_sync(whole_warp, odd ? x[2] : x[3], 1);
  float sum = (upper ? second : first) + __shfl_xor_sync(whole_warp, upper ? first : second, 2);
  for (int away = 4; away < 32; away *= 2) sum += __shfl_xor_sync(whole_warp, sum, away);
  return sum;
}

/// A chunk of each of four rows of weights.
template <bool aligned, class W>
struct FourChunks {
  Chunk<aligned, W> of[gemv_rows_per_warp];
};

/// Begins to load the chunks from columns c, c + step, ... on, as far as there are columns.
template <bool aligned, class W, int ahead>
__device__ inline void load_chunks(FourChunks<aligned, W> (&w)[ahead], const W* const (&row)[gemv_rows_per_warp], int c,
                                   int step, int C) {
  for (int a = 0; a < ahead; ++a)
    if (c + a * step < C)
      for (int i = 0; i < gemv_rows_per_warp; ++i) w[a].of[i] = load_chunk<aligned, true>(row[i], c + a * step, C);
}

/// Adds what the columns from c on give: to sum[n][i] their products with row n of x and chunk i, and to squares[n] the
/// squares of x where a norm wants them.
template <bool aligned, class Job, int rows>
__device__ inline void add_chunk(float (&sum)[rows][gemv_rows_per_warp], float (&squares)[rows],
                                 const FourChunks<aligned, typename Job::W>& w, const Job& job, const float* x, int N,
                                 int C, int c) {
  constexpr int width = chunk<typename Job::W>;
  Few<width> norm;
  if constexpr (Job::normed) norm = weights_at<aligned>(job.norm, c, C);
#pragma unroll
  for (int n = 0; n < rows; ++n) {
    if (rows > 1 && n >= N) break;
    Few<width> in = inputs_at<aligned, width>(x + size_t(n) * C, c, C);
    if constexpr (Job::normed)
      for (int e = 0; e < width; ++e) {
        squares[n] += in.at[e] * in.at[e];
        in.at[e] *= norm.at[e];
      }
    for (int i = 0; i < gemv_rows_per_warp; ++i) {
      const Few<width> weight = values(w.of[i]);
      for (int e = 0; e < width; ++e) sum[n][i] += in.at[e] * weight.at[e];
    }
  }
}

/// A warp takes four rows of weights at once: four loads of 16 bytes are on their way before the first is used, and
/// each number of x that was read serves four rows. Where there are few rows of weights, `share` warps take four rows
/// together, each a part of the columns, and add their sums in shared memory. Every weight is read once for all `rows`
/// rows of x. The first weights, which no kernel writes, are on their way before the warp waits for the kernels that
/// make x.
///
/// A Job has
///   W, the type of its weights, and `normed`: whether x stands for rms_norm(x) with job.norm (C) and job.epsilon;
///   row(k, C): where row k of the weights begins, for k below K, or above for the rest of the last four;
///   finish(n, k, sum): takes the sums of rows k to k + 3 with row n of x.
/// x: (N, C), N <= rows; K rows of weights. The norm's factor is common to a row, so it is applied to the sums, and its
/// sum of squares is found on the way.
template <class Job, int rows, bool aligned>
__global__ void __launch_bounds__(gemv_warps * 32, rows == 8 ? 1 : 2)
    gemv_rows(Job job, const float* x, int N, int K, int C, int share) {
  using W = typename Job::W;
  constexpr int R = gemv_rows_per_warp;
  __shared__ float part[gemv_warps][rows][R + 1];  // the sums of each warp; the last is of the squares of x
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int groups = gemv_warps / share;  // of four rows, in this block
  const int first = blockIdx.x * groups * R;
  const int k = first + warp / share * R;              // this warp's rows: k to k + 3
  constexpr int ahead = rows == 1 && aligned ? 2 : 1;  // then there are registers for eight loads on their way
  let_next_kernel_begin();

  const W* row[R];
  for (int i = 0; i < R; ++i) row[i] = job.row(k + i, C);
  const int step = share * 32 * chunk<W>;
  int c = k < K ? (warp % share * 32 + lane) * chunk<W> : C;  // a warp without rows takes no columns
  FourChunks<aligned, W> w[ahead];
  load_chunks(w, row, c, step, C);
  wait_for_earlier_kernels();

  if (k < K) {
    float sum[rows][R] = {}, squares[rows] = {};
    while (c < C) {
      for (int a = 0; a < ahead; ++a)
        if (c + a * step < C) add_chunk<aligned>(sum, squares, w[a], job, x, N, C, c + a * step);
      c += ahead * step;
      load_chunks(w, row, c, step, C);
    }
    for (int n = 0; n < rows; ++n) {
      if (rows > 1 && n >= N) break;
      const float total = warp_sum_of_4(sum[n]);
      if (lane < R) part[warp][n][lane] = total;
      if constexpr (Job::normed) {
        const float total_squares = warp_sum(squares[n]);
        if (lane == 0) part[warp][n][R] = total_squares;
      }
    }
  }
  __syncthreads();

  // One thread per four rows of weights and row of x.
  const int group = threadIdx.x / rows, n = threadIdx.x % rows, my_k = first + group * R;
  if (group >= groups || n >= N || my_k >= K) return;
  float sum[R] = {}, squares = 0.0f;
  for (int s = 0; s < share; ++s) {
    const float* const of_warp = part[group * share + s][n];
    for (int i = 0; i < R; ++i) sum[i] += of_warp[i];
    if constexpr (Job::normed) squares += of_warp[R];
  }
  if constexpr (Job::normed) {
    const float factor = rsqrtf(squares / float(C) + job.epsilon);
    for (int i = 0; i < R; ++i) sum[i] *= factor;
  }
  job.finish(n, my_k, sum);
}

/// Runs a job for N rows of x, up to 8 of them in one launch. job_of(n) is the job for the rows from n on.
template <class JobOf>
void launch_gemv_rows(const JobOf& job_of, const float* x, int N, int K, int C, bool aligned, cudaStream_t stream) {
  using Job = decltype(job_of(0));
  if (K == 0) return;
  constexpr int elements = 32 * chunk<typename Job::W>;  // of a row that a warp takes in one step
  // Twice as many as the device holds at a time with 128 registers a thread.
  const int enough_warps = 32 * attribute_of_device(cudaDevAttrMultiProcessorCount);
  int share = 1;
  while (share < gemv_warps && ceil_div(K, gemv_rows_per_warp) * share < enough_warps && C >= 4 * elements * share)
    share *= 2;
  const int blocks = ceil_div(K, gemv_rows_per_warp * (gemv_warps / share));
  for (int n = 0, rows; n < N; n += rows) {
    const int left = N - n;
    rows = !aligned ? 1 : left < 8 ? left : 8;
    const auto kernel = !aligned    ? gemv_rows<Job, 1, false>
                        : rows == 1 ? gemv_rows<Job, 1, true>
                        : rows == 2 ? gemv_rows<Job, 2, true>
                        : rows <= 4 ? gemv_rows<Job, 4, true>
                                    : gemv_rows<Job, 8, true>;
    launch(kernel, {blocks, gemv_warps * 32, 0, stream, /*overlap=*/true}, job_of(n), x + size_t(n) * C, rows, K, C,
           share);
  }
}

}  // namespace rungs
