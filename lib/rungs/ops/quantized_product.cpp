// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/quantized_product.cpp"
#include "rungs/ops/quantized_product.hpp"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "rungs/ops/floats.hpp"
#include "rungs/tensor/quantize.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

/// Rows of x: whole numbers, and for each block their scale and their sum.
struct Numbers {
  const int16_t* q;
  const float *scale, *sum;
  int64_t stride;  ///< of each, in floats
  const int16_t* block(int64_t row, int64_t b) const { return q + row * 2 * stride + b * block_elements; }
  float scale_of(int64_t row, int64_t b) const { return scale[row * stride + b]; }
  float sum_of(int64_t row, int64_t b) const { return sum[row * stride + b]; }
  Numbers from(int64_t row) const { return {block(row, 0), scale + row * stride, sum + row * stride, stride}; }
};

/// Blocks of x in one of the weight.
template <class Q>
constexpr int64_t blocks_in = elements_of_block(dtype_of<Q>) / block_elements;

#if HWY_TARGET == HWY_SCALAR

template <class Q>
void product(float* out, int64_t out_stride, const Numbers& x, int64_t N, const Q* w, int64_t K, int64_t blocks) {
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k) {
      float total = 0;
      for (int64_t b = 0; b < blocks; ++b) {
        const Q& block = w[(k * blocks + b) / blocks_in<Q>];
        const int64_t part = b % blocks_in<Q>;
        int32_t sum = 0;
        for (int64_t i = 0; i < block_elements; ++i)
          sum += number_of(block, part * block_elements + i) * x.block(n, b)[i];
        total = std::fma(float(sum), to_float(block.scale) * x.scale_of(n, b), total);
        if constexpr (std::is_same_v<Q, q4_k>)
          total = std::fma(-float(group_of(block, part).min) * x.sum_of(n, b),
                           to_float(block.min_scale) * x.scale_of(n, b), total);
      }
      out[n * out_stride + k] = total;
    }
}

#else

using Lanes = hn::ScalableTag<float>;
using Shorts = hn::Repartition<int16_t, Lanes>;
using Ints = hn::Repartition<int32_t, Lanes>;
using Four = hn::FixedTag<float, 4>;
constexpr int64_t shorts = hn::MaxLanes(Shorts());

/// The numbers of 32 elements.
struct BlockNumbers {
  HWY_INLINE BlockNumbers() {}
  hn::Vec<Shorts> q[block_elements / shorts];
};

HWY_INLINE void unpack(const q8_0& block, int64_t, BlockNumbers& w) {
  const hn::Rebind<int8_t, Shorts> bytes;
  HWY_UNROLL(4)
  for (int i = 0; i < block_elements / shorts; ++i)
    w.q[i] = hn::PromoteTo(Shorts(), hn::LoadU(bytes, block.q + i * shorts));
}

HWY_INLINE void unpack(const q4_0& block, int64_t, BlockNumbers& w) {
  const Shorts d;
  const auto eight = hn::Set(d, 8);
#if HWY_TARGET <= HWY_AVX3  // all 32 in one vector
  const hn::FixedTag<uint8_t, 16> sixteen;
  const hn::Rebind<uint8_t, Shorts> bytes;
  const auto both = hn::LoadU(sixteen, block.q);
  const auto nibbles = hn::Combine(bytes, hn::ShiftRight<4>(both), hn::And(both, hn::Set(sixteen, 15)));
  w.q[0] = hn::Sub(hn::PromoteTo(d, nibbles), eight);
#else
  const hn::Rebind<uint8_t, Shorts> bytes;
  constexpr int half = block_elements / 2 / shorts;
  HWY_UNROLL(2) for (int i = 0; i < half; ++i) {
    const auto both = hn::PromoteTo(d, hn::LoadU(bytes, block.q + i * shorts));
    w.q[i] = hn::Sub(hn::And(both, hn::Set(d, 15)), eight);
    w.q[i + half] = hn::Sub(hn::ShiftRight<4>(both), eight);
  }
#endif
}

HWY_INLINE void unpack(const q4_k& block, int64_t part, BlockNumbers& w) {
  const Shorts d;
  const hn::Rebind<uint8_t, Shorts> bytes;
  const auto scale = hn::Set(d, int16_t(group_of(block, part).scale));
  HWY_UNROLL(4) for (int i = 0; i < block_elements / shorts; ++i) {
    const auto both = hn::PromoteTo(d, hn::LoadU(bytes, block.q + part / 2 * block_elements + i * shorts));
    w.q[i] = hn::Mul(part % 2 ? hn::ShiftRight<4>(both) : hn::And(both, hn::Set(d, 15)), scale);
  }
}

HWY_INLINE void unpack(const q6_k& block, int64_t part, BlockNumbers& w) {
  const Shorts d;
  const hn::Rebind<uint8_t, Shorts> bytes;
  const int64_t half = part / 4, quarter = part % 4;
  const uint8_t *low = block.low + half * 64 + quarter % 2 * 32, *high = block.high + half * 32;
  const int8_t* scales = block.groups + part * 2;
  HWY_UNROLL(4) for (int i = 0; i < block_elements / shorts; ++i) {
    const auto four = hn::ShiftRightSame(hn::PromoteTo(d, hn::LoadU(bytes, low + i * shorts)), quarter < 2 ? 0 : 4);
    const auto two = hn::ShiftRightSame(hn::PromoteTo(d, hn::LoadU(bytes, high + i * shorts)), int(2 * quarter));
    const auto bits = hn::Or(hn::And(four, hn::Set(d, 15)), hn::ShiftLeft<4>(hn::And(two, hn::Set(d, 3))));
#if HWY_TARGET <= HWY_AVX3  // two groups in one vector
    const auto scale = hn::IfThenElse(hn::FirstN(d, 16), hn::Set(d, scales[0]), hn::Set(d, scales[1]));
#else
    const auto scale = hn::Set(d, int16_t(scales[i * shorts / 16]));
#endif
    w.q[i] = hn::Mul(hn::Sub(bits, hn::Set(d, 32)), scale);
  }
}

/// Sums of products of whole numbers, of neighbours or in two halves of a vector: as is fast.
struct Sums {
  hn::Vec<Ints> some, others;
  HWY_INLINE Sums() {}
  HWY_INLINE void clear() { some = others = hn::Zero(Ints()); }
  HWY_INLINE void add(hn::Vec<Shorts> a, hn::Vec<Shorts> b) {
    some = hn::ReorderWidenMulAccumulate(Ints(), a, b, some, others);
  }
};

/// A block holds the sums of four rows of w with so many rows of x in registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int widest = 6;  // there are 32
#else
constexpr int widest = 3;
#endif

HWY_INLINE hn::Vec<Four> floats_of(f16 a, f16 b, f16 c, f16 d) {
  const uint64_t bits = a.bits | uint64_t(b.bits) << 16 | uint64_t(c.bits) << 32 | uint64_t(d.bits) << 48;
  const hn::Rebind<hwy::float16_t, Four> halves;
  return hn::PromoteTo(Four(), hn::BitCast(halves, hn::Set(hn::FixedTag<uint64_t, 1>(), bits)));
}

/// From a0 a1 a2 a3 and b0 b1 b2 b3 in 128 bits: a0 + a2, b0 + b2, a1 + a3, b1 + b3.
HWY_INLINE hn::Vec<hn::Repartition<uint64_t, Ints> > pairwise(const Sums& a, const Sums& b) {
  const Ints i;
  const auto x = hn::Add(a.some, a.others), y = hn::Add(b.some, b.others);
  return hn::BitCast(hn::Repartition<uint64_t, Ints>(),
                     hn::Add(hn::InterleaveLower(i, x, y), hn::InterleaveUpper(i, x, y)));
}

/// The sums of the lanes of four vectors.
HWY_INLINE hn::Vec<Four> sums_of_lanes(const Sums& a, const Sums& b, const Sums& c, const Sums& d) {
  const Ints i;
  const hn::Repartition<uint64_t, Ints> two;
  const auto ab = pairwise(a, b), cd = pairwise(c, d);
  const auto sums = hn::Add(hn::BitCast(i, hn::InterleaveLower(two, ab, cd)),
                            hn::BitCast(i, hn::InterleaveUpper(two, ab, cd)));  // a b c d, in each 128 bits
#if HWY_TARGET <= HWY_AVX3
  const hn::Half<Ints> half;
  const hn::Half<decltype(half)> quarter;
  const auto folded = hn::Add(hn::LowerHalf(half, sums), hn::UpperHalf(half, sums));
  return hn::ConvertTo(Four(), hn::Add(hn::LowerHalf(quarter, folded), hn::UpperHalf(quarter, folded)));
#elif HWY_TARGET <= HWY_AVX2
  const hn::Half<Ints> half;
  return hn::ConvertTo(Four(), hn::Add(hn::LowerHalf(half, sums), hn::UpperHalf(half, sums)));
#else
  return hn::ConvertTo(Four(), sums);
#endif
}

/// Four rows of w with R of x: out[r][k[i]] = x[r] · w[i].
template <int R, class Q>
HWY_INLINE void four_rows(float* out, int64_t out_stride, const Numbers& x, const Q* const (&w)[4],
                          const int64_t (&k)[4], int64_t blocks) {
  hn::Vec<Four> total[R];
  HWY_UNROLL(8) for (int r = 0; r < R; ++r) total[r] = hn::Zero(Four());
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t at = b / blocks_in<Q>, part = b % blocks_in<Q>;
    Sums sums[4][R];
    HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
      HWY_UNROLL(8) for (int r = 0; r < R; ++r) sums[i][r].clear();
      if (R == 1 && part == 0) hwy::Prefetch(&w[i][at] + 512 / sizeof(Q));
      BlockNumbers numbers;
      unpack(w[i][at], part, numbers);
      HWY_UNROLL(8) for (int r = 0; r < R; ++r) {
        HWY_UNROLL(4) for (int j = 0; j < block_elements / shorts; ++j) {
          const auto x_j = hn::LoadU(Shorts(), x.block(r, b) + j * shorts);
          sums[i][r].add(numbers.q[j], x_j);
        }
      }
    }
    const auto scales = floats_of(w[0][at].scale, w[1][at].scale, w[2][at].scale, w[3][at].scale);
    HWY_UNROLL(8) for (int r = 0; r < R; ++r) {
      const auto products = sums_of_lanes(sums[0][r], sums[1][r], sums[2][r], sums[3][r]);
      total[r] = hn::MulAdd(products, hn::Mul(scales, hn::Set(Four(), x.scale_of(r, b))), total[r]);
    }
    if constexpr (std::is_same_v<Q, q4_k>) {  // Σ (s q - m) x = s Σ q x - m Σ x
      const auto min_scales = floats_of(w[0][at].min_scale, w[1][at].min_scale, w[2][at].min_scale, w[3][at].min_scale);
      HWY_ALIGN float min[4];
      for (int i = 0; i < 4; ++i) min[i] = float(group_of(w[i][at], part).min);
      HWY_UNROLL(8) for (int r = 0; r < R; ++r) {
        const auto subtracted = hn::Mul(hn::Load(Four(), min), hn::Set(Four(), x.sum_of(r, b)));  // whole, so exact
        total[r] = hn::NegMulAdd(subtracted, hn::Mul(min_scales, hn::Set(Four(), x.scale_of(r, b))), total[r]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    float values[4];
    hn::StoreU(total[r], Four(), values);
    for (int i = 0; i < 4; ++i) out[r * out_stride + k[i]] = values[i];
  }
}

/// Four quarters of w are read side by side: each is one long stream that the processor sees coming. So few rows of x
/// at a time that the caches hold them.
template <class Q>
void product(float* out, int64_t out_stride, const Numbers& x, int64_t N, const Q* w, int64_t K, int64_t blocks) {
  constexpr int64_t rows_at_a_time = 24;
  const int64_t quarter = (K + 3) / 4;
  for (int64_t begin = 0; begin < N; begin += rows_at_a_time)
    for (int64_t first = 0; first < quarter; ++first) {
      const Q* rows[4];
      int64_t k[4];  // of each quarter the same; where one has no more, that of the quarter before once more
      for (int i = 0; i < 4; ++i) {
        k[i] = first + i * quarter < K ? first + i * quarter : k[i - 1];
        rows[i] = w + k[i] * blocks / blocks_in<Q>;
      }
      const int64_t end = std::min(N, begin + rows_at_a_time);
      for (int64_t n = begin, left; (left = end - n) > 0;) {  // none alone that could be one of two
        float* o = out + n * out_stride;
        const bool one_would_be_left = left == widest + 1;
        if (left >= widest && !one_would_be_left)
          four_rows<widest>(o, out_stride, x.from(n), rows, k, blocks), n += widest;
        else if (left == 3 || left > 4)
          four_rows<3>(o, out_stride, x.from(n), rows, k, blocks), n += 3;
        else if (left > 1)
          four_rows<2>(o, out_stride, x.from(n), rows, k, blocks), n += 2;
        else
          four_rows<1>(o, out_stride, x.from(n), rows, k, blocks), n += 1;
      }
    }
}

#endif

Numbers numbers_in(const float* x, int64_t C) {
  const float* scale = x + C / 2;
  return {reinterpret_cast<const int16_t*>(x), scale, scale + C / block_elements, quantized_floats(C)};
}

void product_q8_0(float* out, int64_t out_stride, const float* x, int64_t N, const q8_0* w, int64_t K, int64_t C) {
  product(out, out_stride, numbers_in(x, C), N, w, K, C / block_elements);
}
void product_q4_0(float* out, int64_t out_stride, const float* x, int64_t N, const q4_0* w, int64_t K, int64_t C) {
  product(out, out_stride, numbers_in(x, C), N, w, K, C / block_elements);
}

void product_q4_k(float* out, int64_t out_stride, const float* x, int64_t N, const q4_k* w, int64_t K, int64_t C) {
  product(out, out_stride, numbers_in(x, C), N, w, K, C / block_elements);
}
void product_q6_k(float* out, int64_t out_stride, const float* x, int64_t N, const q6_k* w, int64_t K, int64_t C) {
  product(out, out_stride, numbers_in(x, C), N, w, K, C / block_elements);
}

/// out = x as numbers_in reads it.
void quantize_row(float* out, const float* x, int64_t C) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<int16_t, decltype(d)> whole;
  const auto step = int64_t(hn::Lanes(d));
  const hn::Rebind<int32_t, decltype(d)> ints;
  auto* q = reinterpret_cast<int16_t*>(out);
  float *scales = out + C / 2, *sums = scales + C / block_elements;
  for (int64_t first = 0; first < C; first += block_elements) {
    auto largest = hn::Zero(d), unusable = hn::Zero(d);  // 0 times what is no finite number is NaN
    for (int64_t c = first; c < first + block_elements; c += step) {
      const auto some = hn::LoadU(d, x + c);
      largest = hn::Max(largest, hn::Abs(some));
      unusable = hn::MulAdd(some, hn::Zero(d), unusable);
    }
    const float scale = hn::GetLane(hn::MaxOfLanes(d, largest)) / 127 + hn::GetLane(hn::SumOfLanes(d, unusable));
    const auto inverse = hn::Set(d, scale > 0 ? 1 / scale : 0);
    auto sum = hn::Zero(ints);
    for (int64_t c = first; c < first + block_elements; c += step) {
      const auto numbers = hn::NearestInt(hn::Mul(hn::LoadU(d, x + c), inverse));
      hn::StoreU(hn::DemoteTo(whole, numbers), whole, q + c);
      sum = hn::Add(sum, numbers);
    }
    scales[first / block_elements] = scale;
    sums[first / block_elements] = float(hn::GetLane(hn::SumOfLanes(ints, sum)));
  }
}

}  // namespace

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(product_q8_0);
HWY_EXPORT(product_q4_0);
HWY_EXPORT(product_q4_k);
HWY_EXPORT(product_q6_k);
HWY_EXPORT(quantize_row);

void quantize_rows(Tensor& out, const Tensor& x, int64_t first, int64_t last) {
  for (int64_t n = first; n < last; ++n)
    HWY_DYNAMIC_DISPATCH(quantize_row)(out.data() + n * out.cols(), x.data() + n * x.cols(), x.cols());
}

void quantized_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  const int64_t N = x.rows(), K = weight.rows(), C = weight.cols();
  const auto run = [&](auto product, const auto* w) {
    product(out.data() + first, K, x.data(), N, w + first * C / elements_of_block(weight.dtype()), last - first, C);
  };
  switch (weight.dtype()) {
    case DType::q8_0:
      return run(HWY_DYNAMIC_DISPATCH(product_q8_0), weight.data<q8_0>());
    case DType::q4_0:
      return run(HWY_DYNAMIC_DISPATCH(product_q4_0), weight.data<q4_0>());
    case DType::q4_k:
      return run(HWY_DYNAMIC_DISPATCH(product_q4_k), weight.data<q4_k>());
    default:
      return run(HWY_DYNAMIC_DISPATCH(product_q6_k), weight.data<q6_k>());
  }
}

}  // namespace rungs
#endif
