// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)  // no arrays of their vectors
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dot.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "tensor/dtype.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<float>;
using Vector = hn::Vec<Lanes>;

/// As many elements as a vector has lanes, as f32.
static HWY_INLINE Vector load(Lanes d, const float* x) { return hn::LoadU(d, x); }
static HWY_INLINE Vector load(Lanes d, const bf16* x) {
  const hn::Rebind<hwy::bfloat16_t, Lanes> half;
  return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::bfloat16_t*>(x)));
}
static HWY_INLINE Vector load(Lanes d, const f16* x) {
  const hn::Rebind<hwy::float16_t, Lanes> half;
  return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(x)));
}

static HWY_INLINE float value(float x) { return x; }
static HWY_INLINE float value(bf16 x) { return to_float(x); }
static HWY_INLINE float value(f16 x) { return to_float(x); }

/// out[n, r] = x[n] · weight[r] for R rows of the weight and N rows of x. Every dot product is one sum of vectors, so
/// it does not depend on R and N; that there are several at a time hides the latency of each.
template <int R, int N, class W>
static HWY_INLINE void block(float* out, int64_t K, const float* x, const W* weight, int64_t C) {
  const Lanes d;
  const auto step = int64_t(hn::Lanes(d));
  Vector sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = hn::Zero(d);
  int64_t c = 0;
  for (; c + step <= C; c += step) {
    for (int r = 0; r < R; ++r) {
      const Vector w = load(d, weight + r * C + c);
      for (int n = 0; n < N; ++n) sum[r][n] = hn::MulAdd(w, hn::LoadU(d, x + n * C + c), sum[r][n]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) {
      float total = hn::GetLane(hn::SumOfLanes(d, sum[r][n]));
      for (int64_t rest = c; rest < C; ++rest) total += value(weight[r * C + rest]) * x[n * C + rest];
      out[n * K + r] = total;
    }
}

/// R rows of the weight with all N rows of x, four at a time, while the weight is in the nearest cache.
template <int R, class W>
static HWY_INLINE void rows(float* out, int64_t K, const float* x, int64_t N, const W* weight, int64_t C) {
  int64_t n = 0;
  for (; n + 4 <= N; n += 4) block<R, 4>(out + n * K, K, x + n * C, weight, C);
  if (N - n == 3) block<R, 3>(out + n * K, K, x + n * C, weight, C);
  if (N - n == 2) block<R, 2>(out + n * K, K, x + n * C, weight, C);
  if (N - n == 1) block<R, 1>(out + n * K, K, x + n * C, weight, C);
}

template <class W>
static void product(float* out, int64_t K, const float* x, int64_t N, const W* weight, int64_t C, int64_t first,
                    int64_t last) {
  int64_t k = first;
  if (N <= 2)  // more rows of x need more registers
    for (; k + 4 <= last; k += 4) rows<4>(out + k, K, x, N, weight + k * C, C);
  for (; k + 2 <= last; k += 2) rows<2>(out + k, K, x, N, weight + k * C, C);
  for (; k < last; ++k) rows<1>(out + k, K, x, N, weight + k * C, C);
}

static void product_f32(float* out, int64_t K, const float* x, int64_t N, const float* weight, int64_t C, int64_t first,
                        int64_t last) {
  product(out, K, x, N, weight, C, first, last);
}
static void product_bf16(float* out, int64_t K, const float* x, int64_t N, const bf16* weight, int64_t C, int64_t first,
                         int64_t last) {
  product(out, K, x, N, weight, C, first, last);
}
static void product_f16(float* out, int64_t K, const float* x, int64_t N, const f16* weight, int64_t C, int64_t first,
                        int64_t last) {
  product(out, K, x, N, weight, C, first, last);
}

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include "ops/dot.hpp"

namespace rungs {

HWY_EXPORT(product_f32);
HWY_EXPORT(product_bf16);
HWY_EXPORT(product_f16);

void product_of_few_rows(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  const int64_t N = x.rows(), K = weight.rows(), C = x.cols();
  const auto run = [&](auto product, const auto* w) { product(out.data(), K, x.data(), N, w, C, first, last); };
  switch (weight.dtype()) {
    case DType::f32:
      return run(HWY_DYNAMIC_DISPATCH(product_f32), weight.data());
    case DType::bf16:
      return run(HWY_DYNAMIC_DISPATCH(product_bf16), weight.data<bf16>());
    case DType::f16:
      return run(HWY_DYNAMIC_DISPATCH(product_f16), weight.data<f16>());
    default:
      throw ShapeError(fmt::format("wanted weights in f32, bf16 or f16, found {}", name_of(weight.dtype())));
  }
}

}  // namespace rungs
#endif
