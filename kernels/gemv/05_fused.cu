/// Beyond rung 4: what stands before and after a product of decoding goes into its launch. The norm before it costs one
/// multiplication per number of x and saves a launch; q, k and v, or gate and up, are more rows of one product.
#include "kernels/gemv/gemv.hpp"
#include "kernels/gemv/rows.cuh"

namespace rungs {

namespace {

/// Rows 0 to Kq are those of q, then come Kkv of k and Kkv of v.
template <class Weight>
struct Qkv {
  using W = Weight;
  static constexpr bool normed = true;
  GemvQkv<W> io;
  const W* norm;  // (C)
  float epsilon;
  int Kq, Kkv;

  // Without a branch: behind one, ptxas puts the first loads of weights after the wait for earlier kernels.
  __device__ const W* row(int k, int C) const {
    const int of_k = k - Kq, of_v = of_k - Kkv;
    const W* const part = of_k < 0 ? io.wq : of_v < 0 ? io.wk : io.wv;
    const int r = of_k < 0 ? k : of_v < 0 ? of_k : of_v < Kkv ? of_v : Kkv - 1;
    return part + size_t(r) * C;
  }
  __device__ void finish(int n, int k, const float (&sum)[gemv_rows_per_warp]) const {
    for (int i = 0; i < gemv_rows_per_warp; ++i, ++k)
      if (k < Kq)
        io.q[size_t(n) * Kq + k] = sum[i];
      else if (k < Kq + Kkv)
        io.k[size_t(n) * Kkv + k - Kq] = sum[i];
      else if (k < Kq + 2 * Kkv)
        io.v[size_t(n) * Kkv + k - Kq - Kkv] = sum[i];
  }
};

/// Of four rows, two are those of gate and two the same of up, so that one thread has both to multiply.
template <class Weight>
struct Gated {
  using W = Weight;
  static constexpr bool normed = true;
  float* hidden;       // (N, F)
  const W *gate, *up;  // (F, C)
  const W* norm;       // (C)
  float epsilon;
  int F;

  __device__ const W* row(int k, int C) const {
    const int f = k / 4 * 2 + k % 2;
    return (k % 4 < 2 ? gate : up) + size_t(f < F ? f : F - 1) * C;
  }
  __device__ void finish(int n, int k, const float (&sum)[gemv_rows_per_warp]) const {
    const int f = k / 4 * 2;
    for (int i = 0; i < 2 && f + i < F; ++i)
      hidden[size_t(n) * F + f + i] = sum[i] / (1.0f + expf(-sum[i])) * sum[i + 2];
  }
};

}  // namespace

template <class W>
void gemv_norm_qkv(const GemvQkv<W>& io, const float* x, int N, int Kq, int Kkv, int C, cudaStream_t stream) {
  const auto job_of = [&](int n) {
    Qkv<W> job = {io, io.norm, io.epsilon, Kq, Kkv};
    job.io.q += size_t(n) * Kq, job.io.k += size_t(n) * Kkv, job.io.v += size_t(n) * Kkv;
    return job;
  };
  const bool aligned = chunks_aligned(C, x, io.wq) && aligned_to(chunk<W>, io.wk, io.wv, io.norm);
  launch_gemv_rows(job_of, x, N, Kq + 2 * Kkv, C, aligned, stream);
}
template void gemv_norm_qkv(const GemvQkv<float>&, const float*, int, int, int, int, cudaStream_t);
template void gemv_norm_qkv(const GemvQkv<bf16>&, const float*, int, int, int, int, cudaStream_t);
template void gemv_norm_qkv(const GemvQkv<f16>&, const float*, int, int, int, int, cudaStream_t);

template <class W>
void gemv_norm_swiglu(float* hidden, const float* x, const W* norm, float epsilon, const W* gate, const W* up, int N,
                      int F, int C, cudaStream_t stream) {
  const auto job_of = [&](int n) { return Gated<W>{hidden + size_t(n) * F, gate, up, norm, epsilon, F}; };
  const bool aligned = chunks_aligned(C, x, gate) && aligned_to(chunk<W>, up, norm);
  launch_gemv_rows(job_of, x, N, ceil_div(F, 2) * 4, C, aligned, stream);
}
template void gemv_norm_swiglu(float*, const float*, const float*, float, const float*, const float*, int, int, int,
                               cudaStream_t);
template void gemv_norm_swiglu(float*, const float*, const bf16*, float, const bf16*, const bf16*, int, int, int,
                               cudaStream_t);
template void gemv_norm_swiglu(float*, const float*, const f16*, float, const f16*, const f16*, int, int, int,
                               cudaStream_t);

}  // namespace rungs
