// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/attention_sums.cpp"
#include "rungs/ops/attention_sums.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "rungs/ops/constant-inl.hpp"
#include "rungs/ops/lane_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

using Lanes = hn::ScalableTag<float>;
using Vector = hn::Vec<Lanes>;

HWY_INLINE int64_t lanes() { return int64_t(hn::Lanes(Lanes())); }

/// scores[i] = x · key[i]. One query with four keys: each element of a key is read by the instruction that multiplies
/// it, which no larger block gets along with.
HWY_INLINE void four_dots(float* scores, const float* x, const float* const (&key)[4], int64_t D) {
  const Lanes d;
  const int64_t whole = D / lanes() * lanes();
  Vector sum[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (int64_t i = 0; i < whole; i += lanes()) {
    const Vector some = hn::LoadU(d, x + i);
    HWY_UNROLL(4) for (int k = 0; k < 4; ++k) sum[k] = hn::MulAdd(hn::LoadU(d, key[k] + i), some, sum[k]);
  }
  store_sums_of_lanes(scores, sum[0], sum[1], sum[2], sum[3]);
  for (int64_t i = whole; i < D; ++i)
    for (int k = 0; k < 4; ++k) scores[k] += x[i] * key[k][i];
}

void dots(float* scores, int64_t stride, const float* q, const float* keys, int64_t n, const Heads& heads) {
  const auto [H, G, D] = heads;
  const int64_t group = H / G;
  for (int64_t s = 0; s < n; s += 4) {
    const int64_t left = std::min<int64_t>(4, n - s);
    for (int64_t g = 0; g < G; ++g) {
      const float* key[4] = {keys + (s * G + g) * D};  // where fewer remain, the last of them once more
      for (int64_t i = 1; i < 4; ++i) key[i] = key[i - 1] + (i < left ? G * D : 0);
      for (int64_t h = g * group; h < (g + 1) * group; ++h) {
        float four[4], *out = scores + h * stride + s;
        four_dots(left == 4 ? out : four, q + h * D, key, D);
        if (left < 4) std::copy_n(four, left, out);
      }
    }
  }
}

/// out += `width` vectors of all values, in registers meanwhile. Values are `step` floats apart.
template <int width>
HWY_INLINE void strip(float* out, const float* weights, const float* values, int64_t step, int64_t n) {
  const Lanes d;
  Vector sum[width];
  HWY_UNROLL(8) for (int i = 0; i < width; ++i) sum[i] = hn::LoadU(d, out + i * lanes());
  for (int64_t s = 0; s < n; ++s, values += step) {
    const Vector weight = hn::Set(d, weights[s]);
    HWY_UNROLL(8)
    for (int i = 0; i < width; ++i) sum[i] = hn::MulAdd(weight, hn::LoadU(d, values + i * lanes()), sum[i]);
  }
  HWY_UNROLL(8) for (int i = 0; i < width; ++i) hn::StoreU(sum[i], d, out + i * lanes());
}

void add_values(float* out, const float* weights, int64_t stride, const float* values, int64_t n, const Heads& heads) {
  const auto [H, G, D] = heads;
  const int64_t step = G * D, group = H / G;
  for (int64_t h = 0; h < H; ++h) {
    float* o = out + h * stride;
    const float *w = weights + h * stride, *v = values + h / group * D;
    const int64_t whole = D / lanes() * lanes();
    for (int64_t i = 0; i < whole; i += 8 * lanes())
      with_constant<8>(std::min<int64_t>(8, (whole - i) / lanes()),
                       [&](auto width) HWY_ATTR { strip<width>(o + i, w, v + i, step, n); });
    for (int64_t i = whole; i < D; ++i)
      for (int64_t s = 0; s < n; ++s) o[i] += w[s] * v[s * step + i];
  }
}

}  // namespace

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(dots);
HWY_EXPORT(add_values);

void dots_with_keys(float* scores, int64_t stride, const float* q, const float* keys, int64_t n, const Heads& heads) {
  HWY_DYNAMIC_DISPATCH(dots)(scores, stride, q, keys, n, heads);
}

void add_weighted_values(float* out, const float* weights, int64_t stride, const float* values, int64_t n,
                         const Heads& heads) {
  HWY_DYNAMIC_DISPATCH(add_values)(out, weights, stride, values, n, heads);
}

}  // namespace rungs
#endif
