/// Rung 4: four rows of the weight per warp, or several warps per row, whatever fills the GPU: rows.cuh has the kernel.
#include "kernels/gemv/gemv.hpp"
#include "kernels/gemv/rows.cuh"

namespace rungs {

namespace {

/// y = or += x · weightᵀ, perhaps with a scale for each row of the weight.
template <class Weight, bool add, bool scaled>
struct Product {
  using W = Weight;
  static constexpr bool normed = false;
  float* y;            // (N, K)
  const W* weight;     // (K, C)
  const float* scale;  // (K), if scaled
  int K;

  __device__ const W* row(int k, int C) const { return weight + size_t(k < K ? k : K - 1) * C; }
  __device__ void finish(int n, int k, const float (&sum)[gemv_rows_per_warp]) const {
    for (int i = 0; i < gemv_rows_per_warp && k + i < K; ++i) {
      float* const out = y + size_t(n) * K + k + i;
      const float product = scaled ? scale[k + i] * sum[i] : sum[i];
      *out = add ? *out + product : product;
    }
  }
};

template <bool add, bool scaled, class W>
void launch_product(float* y, const float* x, const W* weight, const float* scale, int N, int K, int C,
                    cudaStream_t stream) {
  const auto job_of = [&](int n) { return Product<W, add, scaled>{y + size_t(n) * K, weight, scale, K}; };
  launch_gemv_rows(job_of, x, N, K, C, chunks_aligned(C, x, weight), stream);
}

}  // namespace

template <class W>
void gemv_04(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream) {
  launch_product<false, false>(y, x, weight, nullptr, N, K, C, stream);
}
template void gemv_04(float*, const float*, const float*, int, int, int, cudaStream_t);
template void gemv_04(float*, const float*, const bf16*, int, int, int, cudaStream_t);
template void gemv_04(float*, const float*, const f16*, int, int, int, cudaStream_t);

template <class W>
void gemv_add(float* y, const float* x, const W* weight, int N, int K, int C, cudaStream_t stream) {
  launch_product<true, false>(y, x, weight, nullptr, N, K, C, stream);
}
template void gemv_add(float*, const float*, const float*, int, int, int, cudaStream_t);
template void gemv_add(float*, const float*, const bf16*, int, int, int, cudaStream_t);
template void gemv_add(float*, const float*, const f16*, int, int, int, cudaStream_t);

void gemv_int8(float* y, const float* x, const int8_t* weight, const float* scale, int N, int K, int C,
               cudaStream_t stream) {
  launch_product<false, true>(y, x, weight, scale, N, K, C, stream);
}

}  // namespace rungs
