// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/quantized_product.cpp"
#include "rungs/ops/quantized_product.hpp"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "rungs/ops/blocks_of_x.hpp"
#include "rungs/ops/dot_instructions-inl.hpp"
#include "rungs/ops/floats.hpp"
#include "rungs/ops/packed_bytes.hpp"
#include "rungs/ops/processor.hpp"
#include "rungs/ops/quantized_blocks-inl.hpp"
#include "rungs/tensor/quantize.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

#if HWY_TARGET == HWY_SCALAR

template <class Q>
void product(float* out, int64_t out_stride, const RowsOfX& x, int64_t N, const Q* w, int64_t K, int64_t blocks) {
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k) {
      float total = 0;
      for (int64_t b = 0; b < blocks; ++b) {
        const Q& block = w[(k * blocks + b) / blocks_in<Q>];
        const BlockOfX& x_b = x.block(n, b);
        const int64_t part = b % blocks_in<Q>;
        int32_t sum = 0;
        for (int64_t i = 0; i < block_elements; ++i) sum += number_of(block, part * block_elements + i) * x_b.q[i];
        total = std::fma(float(sum), to_float(block.scale) * x_b.scale, total);
        if constexpr (std::is_same_v<Q, q4_k>)
          total = std::fma(-to_float(block.min_scale) * float(group_of(block, part).min), x_b.scaled_sum, total);
      }
      out[n * out_stride + k] = total;
    }
}

#else

constexpr int64_t rows_at_a_time = 24;  ///< of x

/// The products with vectors of at most so many bytes. dots: whether the processor adds up products of bytes four at a
/// time
template <size_t most_bytes, bool dots>
struct SideBySide {
  using Bytes = hn::CappedTag<uint8_t, most_bytes>;
  using SignedBytes = hn::Repartition<int8_t, Bytes>;
  using Shorts = hn::Repartition<int16_t, Bytes>;
  using Ints = hn::Repartition<int32_t, Bytes>;
  using Floats = hn::Repartition<float, Bytes>;

  /// As many rows of w as are multiplied side by side: each has 128 bits of a vector and, in the end, 32 of another.
  static constexpr int rows = hn::MaxLanes(Floats());

  /// Whether numbers have a sign: for dots one factor has none.
  template <class Q>
  static constexpr bool is_signed = !dots && std::is_same_v<Q, q8_0>;

  /// Whether scales of groups are multiplied as whole numbers: the instruction that adds up pairs of products in 16
  /// bits multiplies them, too.
  template <class Q>
  static constexpr bool whole_scales = !dots && std::is_same_v<Q, q6_k>;

  /// Block `at` of several rows of w.
  template <class Q>
  struct Blocks {
    const Q* w[rows];
    int64_t at = 0;
  };

  /// 32 elements of each row, unpacked: the first 16 and the others, as sixteen() has the rows. Four bits stay 0 to 15.
  struct Numbers {
    HWY_INLINE Numbers() {}
    hn::Vec<Bytes> q[2][4];
  };

  /// Of a block of each row: its scale times that of each group, and the mins likewise. Nothing is rounded.
  template <class Q>
  struct Scales {
    HWY_INLINE Scales() {}
    hn::Vec<Floats> of_group[blocks_in<Q> * groups_in<Q>], min[blocks_in<Q>];
  };

  /// The scale of a block, and those of its groups as they lie there: four in 32 bits.
  struct WholeScales {
    HWY_INLINE WholeScales() {}
    hn::Vec<Floats> of_block;
    hn::Vec<Ints> groups[4];
  };

  /// Sixteen bytes of row i of four, `offset` bytes into the block; where a vector has room, those of row i + 4, too,
  /// and of i + 8 and i + 12.
  template <class Q>
  static HWY_INLINE hn::Vec<Bytes> sixteen(const Blocks<Q>& w, size_t offset, int i) {
    const hn::FixedTag<uint8_t, 16> quarter;
    const auto of = [&](int row) HWY_ATTR {
      return hn::LoadU(quarter, reinterpret_cast<const uint8_t*>(w.w[row] + w.at) + offset);
    };
    if constexpr (rows == 16) {
      const hn::Half<Bytes> half;
      return hn::Combine(Bytes(), hn::Combine(half, of(i + 12), of(i + 8)), hn::Combine(half, of(i + 4), of(i)));
    } else if constexpr (rows == 8) {
      return hn::Combine(Bytes(), of(i + 4), of(i));
    } else {
      return of(i);
    }
  }

  /// Bytes 4 i to 4 i + 3 of those sixteen, of all the rows.
  template <int i, class Q>
  static HWY_INLINE hn::Vec<Ints> four(const Blocks<Q>& w, size_t offset) {
    const Ints d;
    const auto of = [&](int row) { return hn::BitCast(d, sixteen(w, offset, row)); };
    if (i < 2) {
      const auto even = hn::InterleaveLower(d, of(0), of(2)), odd = hn::InterleaveLower(d, of(1), of(3));
      return i == 0 ? hn::InterleaveLower(d, even, odd) : hn::InterleaveUpper(d, even, odd);
    }
    const auto even = hn::InterleaveUpper(d, of(0), of(2)), odd = hn::InterleaveUpper(d, of(1), of(3));
    return i == 2 ? hn::InterleaveLower(d, even, odd) : hn::InterleaveUpper(d, even, odd);
  }

  /// Asks for all lines of a block that will be read soon, of row `part`; of all rows, where a block is one part. After
  /// what is needed now was read: before it, decoding in q4_k and q6_k takes a tenth to a fifth longer (Zen 3).
  template <class Q>
  static HWY_INLINE void prefetch(const Blocks<Q>& w, int64_t part) {
    HWY_UNROLL(8) for (int64_t i = 0; i < rows; i += blocks_in<Q>) {
      if (rows < blocks_in<Q> && part >= rows) return;
      const auto* ahead = reinterpret_cast<const uint8_t*>(w.w[i + part] + w.at + 512 / sizeof(Q));
      HWY_UNROLL(4) for (size_t line = 0; line < sizeof(Q); line += 64) hwy::Prefetch(ahead + line);
    }
  }

  static HWY_INLINE hn::Vec<Bytes> low_nibbles(hn::Vec<Bytes> v) { return hn::And(v, hn::Set(Bytes(), 15)); }

  static HWY_INLINE hn::Vec<Floats> times(hn::Vec<Floats> scale, hn::Vec<Ints> whole) {
    return hn::Mul(scale, hn::ConvertTo(Floats(), whole));
  }

  static HWY_INLINE void unpack(const Blocks<q8_0>& w, int64_t, Numbers& out) {
    const auto flip = hn::Set(Bytes(), is_signed<q8_0> ? 0 : 0x80);
    HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
      out.q[0][i] = hn::Xor(sixteen(w, offsetof(q8_0, q), i), flip);
      out.q[1][i] = hn::Xor(sixteen(w, offsetof(q8_0, q) + 16, i), flip);
    }
  }
  static HWY_INLINE void unpack(const Blocks<q8_0>& w, Scales<q8_0>& out) {
    out.of_group[0] = lower_halves(Floats(), four<0>(w, 0));
  }

  static HWY_INLINE void unpack(const Blocks<q4_0>& w, int64_t, Numbers& out) {
    HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
      const auto both = sixteen(w, offsetof(q4_0, q), i);
      out.q[0][i] = low_nibbles(both);
      out.q[1][i] = hn::ShiftRight<4>(both);
    }
  }
  static HWY_INLINE void unpack(const Blocks<q4_0>& w, Scales<q4_0>& out) {
    out.of_group[0] = lower_halves(Floats(), four<0>(w, 0));
  }

  static HWY_INLINE void unpack(const Blocks<q4_k>& w, int64_t part, Numbers& out) {
    HWY_UNROLL(2) for (int half = 0; half < 2; ++half) HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
      const auto both = sixteen(w, offsetof(q4_k, q) + part / 2 * 32 + half * 16, i);
      out.q[half][i] = part % 2 ? hn::ShiftRight<4>(both) : low_nibbles(both);
    }
  }
  static HWY_INLINE void unpack(const Blocks<q4_k>& w, Scales<q4_k>& out) {
    const hn::Vec<Ints> words[] = {four<0>(w, 0), four<1>(w, 0), four<2>(w, 0), four<3>(w, 0)};
    const auto scale = lower_halves(Floats(), words[0]), min_scale = upper_halves(Floats(), words[0]);
    HWY_UNROLL(8) for (int part = 0; part < 8; ++part) {
      hn::Vec<Ints> of_group, min;
      six_bits_of_group(Ints(), words, part, of_group, min);
      out.of_group[part] = times(scale, of_group), out.min[part] = times(min_scale, min);
    }
  }

  static HWY_INLINE void unpack(const Blocks<q6_k>& w, int64_t part, Numbers& out) {
    const Bytes d;
    const int64_t half = part / 4, quarter = part % 4;
    HWY_UNROLL(2) for (int h = 0; h < 2; ++h) HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
      const auto low = sixteen(w, offsetof(q6_k, low) + half * 64 + quarter % 2 * 32 + h * 16, i);
      const auto high = sixteen(w, offsetof(q6_k, high) + half * 32 + h * 16, i);
      out.q[h][i] = six_bits(d, low, high, quarter);
    }
  }
  static HWY_INLINE void unpack(const Blocks<q6_k>& w, WholeScales& out) {
    out.of_block = upper_halves(Floats(), four<3>(w, sizeof(q6_k) - 16));  // the last two bytes
    constexpr size_t at = offsetof(q6_k, groups);
    out.groups[0] = four<0>(w, at), out.groups[1] = four<1>(w, at);
    out.groups[2] = four<2>(w, at), out.groups[3] = four<3>(w, at);
  }
  static HWY_INLINE void unpack(const Blocks<q6_k>& w, Scales<q6_k>& out) {
    WholeScales whole;
    unpack(w, whole);
    HWY_UNROLL(16) for (int g = 0; g < 16; ++g) {
      const auto byte = hn::ShiftLeftSame(whole.groups[g / 4], 24 - g % 4 * 8);
      out.of_group[g] = times(whole.of_block, hn::ShiftRight<24>(byte));
    }
  }

  /// Products of bytes, each added to its neighbour's: at most 128 · 127 · 2, which 16 bits hold.
  template <class Q>
  static HWY_INLINE hn::Vec<Shorts> pairs(hn::Vec<Bytes> w, hn::Vec<SignedBytes> x) {
#if HWY_TARGET <= HWY_SSSE3  // its instruction wants one factor without a sign, so x takes that of w
    const auto factor = is_signed<Q> ? hn::BitCast(Bytes(), hn::Abs(hn::BitCast(SignedBytes(), w))) : w;
#if HWY_TARGET <= HWY_AVX3
    if constexpr (rows == 16) {
      const auto negative = hn::Lt(hn::BitCast(SignedBytes(), w), hn::Zero(SignedBytes()));
      if (is_signed<Q>) x = hn::IfThenElse(negative, hn::Neg(x), x);
      return hn::Vec<Shorts>{_mm512_maddubs_epi16(factor.raw, x.raw)};
    }
#endif
#if HWY_TARGET <= HWY_AVX2
    if constexpr (rows == 8) {
      if (is_signed<Q>) x.raw = _mm256_sign_epi8(x.raw, w.raw);
      return hn::Vec<Shorts>{_mm256_maddubs_epi16(factor.raw, x.raw)};
    }
#endif
    if constexpr (rows == 4) {
      if (is_signed<Q>) x.raw = _mm_sign_epi8(x.raw, w.raw);
      return hn::Vec<Shorts>{_mm_maddubs_epi16(factor.raw, x.raw)};
    }
#else
    const Shorts d;
    const auto w_2 = hn::BitCast(d, w), x_2 = hn::BitCast(d, x);
    const auto even = hn::Mul(hn::ShiftRight<8>(hn::ShiftLeft<8>(w_2)), hn::ShiftRight<8>(hn::ShiftLeft<8>(x_2)));
    return hn::Add(even, hn::Mul(hn::ShiftRight<8>(w_2), hn::ShiftRight<8>(x_2)));
#endif
  }

  static HWY_INLINE hn::Vec<Ints> widened(hn::Vec<Shorts> v) { return sums_of_pairs(Ints(), v, hn::Set(Shorts(), 1)); }

  /// The halves of 128 bits of a and of b added up, and of the sums one of a beside one of b, each as long as Unit.
  template <class Unit, class D, class V>
  static HWY_INLINE V folded(D d, V a, V b) {
    const hn::Repartition<Unit, D> unit;
    const auto x = hn::BitCast(unit, a), y = hn::BitCast(unit, b);
    return hn::Add(hn::BitCast(d, hn::InterleaveLower(unit, x, y)), hn::BitCast(d, hn::InterleaveUpper(unit, x, y)));
  }

  /// The sums of each row's 128 bits: in 32 bits one whole number or two, as there were.
  template <class D, class V>
  static HWY_INLINE V sums_of_rows(D d, const V (&v)[4]) {
    return folded<uint64_t>(d, folded<uint32_t>(d, v[0], v[1]), folded<uint32_t>(d, v[2], v[3]));
  }

#if RUNGS_BYTE_DOTS
  /// The products of each row of w with x, of each group. sums_of_rows() adds up four, so each begins with a quarter of
  /// what is too much.
  template <class Q>
  static HWY_INLINE void dots_of(const Numbers& w, const BlockOfX& x, hn::Vec<Ints> (&out)[2]) {
    const auto x_0 = hn::LoadDup128(SignedBytes(), x.q), x_1 = hn::LoadDup128(SignedBytes(), x.q + 16);
    const auto begin = [&](int g) HWY_ATTR {
      return offset_of<Q> == 0 ? hn::Zero(Ints()) : sum_of_x<Q>(Ints(), x.both_sums(), g, -offset_of<Q> / 4);
    };
    hn::Vec<Ints> sums[2][4];
    HWY_UNROLL(4) for (int i = 0; i < 4; ++i) {
      sums[0][i] = add_dots_of_bytes(begin(0), w.q[0][i], x_0);
      if constexpr (groups_in<Q> == 2)
        sums[1][i] = add_dots_of_bytes(begin(1), w.q[1][i], x_1);
      else
        sums[0][i] = add_dots_of_bytes(sums[0][i], w.q[1][i], x_1);
    }
    HWY_UNROLL(2) for (int g = 0; g < groups_in<Q>; ++g) out[g] = sums_of_rows(Ints(), sums[g]);
  }
#endif

  /// The same from products of pairs. As much is added up in 16 bits as they hold for certain: of four bits eight times
  /// 15 · 127 (sums_of_rows() adds four of a row).
  template <class Q>
  static HWY_INLINE void products_of(const Numbers& w, const BlockOfX& x, hn::Vec<Ints> (&out)[2]) {
#if RUNGS_BYTE_DOTS
    if constexpr (dots) return dots_of<Q>(w, x, out);
#endif
    const auto x_0 = hn::LoadDup128(SignedBytes(), x.q), x_1 = hn::LoadDup128(SignedBytes(), x.q + 16);
    if constexpr (std::is_same_v<Q, q8_0>) {
      hn::Vec<Ints> sums[4];
      HWY_UNROLL(4)
      for (int i = 0; i < 4; ++i)
        sums[i] = hn::Add(widened(pairs<Q>(w.q[0][i], x_0)), widened(pairs<Q>(w.q[1][i], x_1)));
      out[0] = sums_of_rows(Ints(), sums);
    } else {
      hn::Vec<Shorts> sums[4];
      HWY_UNROLL(4) for (int i = 0; i < 4; ++i) sums[i] = hn::Add(pairs<Q>(w.q[0][i], x_0), pairs<Q>(w.q[1][i], x_1));
      out[0] = widened(sums_of_rows(Shorts(), sums));
      if (offset_of<Q> != 0) out[0] = hn::Add(out[0], sum_of_x<Q>(Ints(), x.both_sums(), 0, -offset_of<Q>));
    }
  }

  /// Of a part of a block of q6_k: the scale of group g twice in 32 bits, of rows 0, 1, 0 and 1 of four for h = 0, of
  /// rows 2, 3, 2 and 3 for h = 1; and those of both groups times what is too much in each number.
  struct Factors {
    hn::Vec<Shorts> scale[2][2], offset;
    HWY_INLINE Factors(const WholeScales& scales, int64_t part) {
      const Bytes d;
      const auto groups = hn::BitCast(d, scales.groups[part / 2]);
      const auto bytes_at = [&](const uint8_t(&places)[16], int64_t more) HWY_ATTR {
        const auto at = hn::Add(hn::LoadDup128(d, places), hn::Set(d, uint8_t(part % 2 * 2 + more)));
        return hn::ShiftRight<8>(hn::BitCast(Shorts(), hn::TableLookupBytes(groups, at)));
      };
      HWY_ALIGN constexpr uint8_t of_one[] = {0, 0, 0, 0, 4, 4, 4, 4, 0, 0, 0, 0, 4, 4, 4, 4};
      HWY_ALIGN constexpr uint8_t of_both[] = {0, 0, 1, 1, 4, 4, 5, 5, 8, 8, 9, 9, 12, 12, 13, 13};
      HWY_UNROLL(2)
      for (int g = 0; g < 2; ++g) HWY_UNROLL(2) for (int h = 0; h < 2; ++h) scale[g][h] = bytes_at(of_one, 8 * h + g);
      offset = hn::Mul(bytes_at(of_both, 0), hn::Set(Shorts(), offset_of<q6_k>));
    }
  };

  /// The products of each row of w with x, each group times its scale. In 16 bits four times 63 · 127 are added up.
  static HWY_INLINE hn::Vec<Ints> products_of(const Numbers& w, const Factors& factors, const BlockOfX& x) {
    const auto x_0 = hn::LoadDup128(SignedBytes(), x.q), x_1 = hn::LoadDup128(SignedBytes(), x.q + 16);
    hn::Vec<Ints> sums[2];
    HWY_UNROLL(2) for (int h = 0; h < 2; ++h) {
      const auto group = [&](int g, hn::Vec<SignedBytes> x_g) HWY_ATTR {
        const auto first = pairs<q6_k>(w.q[g][2 * h], x_g), second = pairs<q6_k>(w.q[g][2 * h + 1], x_g);
        return sums_of_pairs(Ints(), folded<uint32_t>(Shorts(), first, second), factors.scale[g][h]);
      };
      sums[h] = hn::Add(group(0, x_0), group(1, x_1));
    }
    const auto offset = sums_of_pairs(Ints(), factors.offset, hn::BitCast(Shorts(), hn::Set(Ints(), x.both_sums())));
    return hn::Sub(folded<uint64_t>(Ints(), sums[0], sums[1]), offset);
  }

  /// out[n][k[i]] = x[n] · w[i] for `count` rows of x; R is that count, if it is known when this is compiled, else 0.
  template <int R, class Q>
  static HWY_INLINE void some_columns(float* out, int64_t out_stride, const RowsOfX& x, int64_t count, Blocks<Q> w,
                                      const int64_t (&k)[rows], int64_t blocks) {
    const Floats d;
    if (R > 0) count = R;
    hn::Vec<Floats> total[R > 0 ? R : rows_at_a_time];
    HWY_UNROLL(4) for (int64_t n = 0; n < count; ++n) total[n] = hn::Zero(d);
    for (w.at = 0; w.at < blocks / blocks_in<Q>; ++w.at) {
      std::conditional_t<whole_scales<Q>, WholeScales, Scales<Q> > scales;
      unpack(w, scales);
      for (int64_t part = 0; part < blocks_in<Q>; ++part) {
        Numbers numbers;
        unpack(w, part, numbers);
        prefetch(w, part);
        const auto each_row_of_x = [&](auto add) HWY_ATTR {
          const auto add_row = [&](int64_t n) HWY_ATTR {
            const BlockOfX& x_b = x.block(n, w.at * blocks_in<Q> + part);
            add(total[n], x_b, hn::Set(d, x_b.scale));
          };
          if (R > 0) {
            HWY_UNROLL(4) for (int64_t n = 0; n < R; ++n) add_row(n);
          } else {
            for (int64_t n = 0; n < count; ++n) add_row(n);
          }
        };
        if constexpr (whole_scales<Q>) {
          const Factors factors(scales, part);
          each_row_of_x([&](hn::Vec<Floats>& sum, const BlockOfX& x_b, hn::Vec<Floats> x_scale) HWY_ATTR {
            const auto products = products_of(numbers, factors, x_b);
            sum = hn::MulAdd(hn::ConvertTo(d, products), hn::Mul(scales.of_block, x_scale), sum);
          });
        } else {
          each_row_of_x([&](hn::Vec<Floats>& sum, const BlockOfX& x_b, hn::Vec<Floats> x_scale) HWY_ATTR {
            hn::Vec<Ints> products[2];
            products_of<Q>(numbers, x_b, products);
            HWY_UNROLL(2) for (int g = 0; g < groups_in<Q>; ++g) {
              const auto scale = hn::Mul(scales.of_group[part * groups_in<Q> + g], x_scale);
              sum = hn::MulAdd(hn::ConvertTo(d, products[g]), scale, sum);
            }
            if constexpr (std::is_same_v<Q, q4_k>)  // Σ (s q - m) x = s Σ q x - m Σ x
              sum = hn::NegMulAdd(scales.min[part], hn::Set(d, x_b.scaled_sum), sum);
          });
        }
      }
    }
    for (int64_t n = 0; n < count; ++n) {
      HWY_ALIGN float values[rows];
      hn::Store(total[n], d, values);
      for (int i = 0; i < rows; ++i) out[n * out_stride + k[i]] = values[i];
    }
  }

  /// Parts of w, as many as `rows`, are read side by side: each is one long stream that the processor sees coming. So
  /// few rows of x at a time that the caches hold them.
  template <class Q>
  static void product(float* out, int64_t out_stride, const RowsOfX& x, int64_t N, const Q* w, int64_t K,
                      int64_t blocks) {
    const int64_t part =
        (K + rows - 1) / rows | 1;  // odd: 2048 bytes apart, say, the streams would share a cache's lines
    for (int64_t begin = 0; begin < N; begin += rows_at_a_time)
      for (int64_t first = 0; first < part; ++first) {
        Blocks<Q> w_k;
        int64_t k[rows];  // of each part the same; where one has no more, that of the part before once more
        for (int i = 0; i < rows; ++i) {
          k[i] = first + i * part < K ? first + i * part : k[i - 1];
          w_k.w[i] = w + k[i] * blocks / blocks_in<Q>;
        }
        const RowsOfX some{x.data + begin * x.stride, x.stride};
        float* o = out + begin * out_stride;
        const int64_t count = std::min(N - begin, rows_at_a_time);
        if (count == 1)
          some_columns<1>(o, out_stride, some, count, w_k, k, blocks);
        else if (count == 2)
          some_columns<2>(o, out_stride, some, count, w_k, k, blocks);
        else
          some_columns<0>(o, out_stride, some, count, w_k, k, blocks);
      }
  }
};

/// Wide vectors take longer to fill with w, and then multiply twice as much: with few rows of x they do not pay.
template <class Q>
void product(float* out, int64_t out_stride, const RowsOfX& x, int64_t N, const Q* w, int64_t K, int64_t blocks) {
  constexpr bool dots = RUNGS_DOT_INSTRUCTIONS;
#if HWY_TARGET <= HWY_AVX3
  if (N > 2) return SideBySide<64, dots>::product(out, out_stride, x, N, w, K, blocks);
#elif RUNGS_BYTE_DOTS
  if (uses_avx_vnni()) return SideBySide<32, true>::product(out, out_stride, x, N, w, K, blocks);
#endif
  SideBySide<32, dots>::product(out, out_stride, x, N, w, K, blocks);
}

#endif

void product_q8_0(float* out, int64_t out_stride, const float* x, int64_t N, const q8_0* w, int64_t K, int64_t C) {
  product(out, out_stride, RowsOfX{x, quantized_floats(C)}, N, w, K, C / block_elements);
}
void product_q4_0(float* out, int64_t out_stride, const float* x, int64_t N, const q4_0* w, int64_t K, int64_t C) {
  product(out, out_stride, RowsOfX{x, quantized_floats(C)}, N, w, K, C / block_elements);
}
void product_q4_k(float* out, int64_t out_stride, const float* x, int64_t N, const q4_k* w, int64_t K, int64_t C) {
  product(out, out_stride, RowsOfX{x, quantized_floats(C)}, N, w, K, C / block_elements);
}
void product_q6_k(float* out, int64_t out_stride, const float* x, int64_t N, const q6_k* w, int64_t K, int64_t C) {
  product(out, out_stride, RowsOfX{x, quantized_floats(C)}, N, w, K, C / block_elements);
}

}  // namespace

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

/// Rows of x from which on it pays to lay rows of a weight side by side (bench/README.md).
static int64_t worth_packing_bytes(DType weight) {
  if (!is_intel()) return 25;
  return elements_of_block(weight) == block_elements ? 13 : 7;
}

HWY_EXPORT(product_q8_0);
HWY_EXPORT(product_q4_0);
HWY_EXPORT(product_q4_k);
HWY_EXPORT(product_q6_k);

void quantized_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  const int64_t N = x.rows(), K = weight.rows(), C = weight.cols();
  if (N >= worth_packing_bytes(weight.dtype()) && packed_bytes_product(out, x, weight, first, last)) return;
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
