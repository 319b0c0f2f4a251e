/// Queries, keys and values with what attention is to give, in double precision.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/device_memory.hpp"
#include "support.hpp"

namespace rungs::test::attention_cases {

struct Sizes {
  int T, S, H, G, D;
};

/// One sequence and what it is to give.
struct Case {
  Sizes sizes;
  Tensor q, k, v;            // (T, H, D), (S, G, D), (S, G, D)
  std::vector<double> want;  // (T, H, D)
  double tolerance;          // for each element
};

/// What attention gives, and the largest of all scores, without their sign.
template <class Real>
struct Attended {
  std::vector<Real> out;  // (T, H, D)
  Real largest_score = 0;
};

/// Attention step by step as its formula reads, in numbers of type Real.
template <class Real>
Attended<Real> plain_attention(const Sizes& sizes, const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto [T, S, H, G, D] = sizes;
  Attended<Real> result{std::vector<Real>(size_t(T * H * D))};
  std::vector<Real> weight(S);
  for (int t = 0; t < T; ++t)
    for (int h = 0; h < H; ++h) {
      const float* q_row = q.data() + (size_t(t) * H + h) * D;
      const size_t head = size_t(h / (H / G)) * D, stride = size_t(G) * D;
      const int seen = S - T + t + 1;
      Real largest = -INFINITY, total = 0;
      for (int s = 0; s < seen; ++s) {
        const float* k_row = k.data() + s * stride + head;
        Real sum = 0;
        for (int d = 0; d < D; ++d) sum += Real(q_row[d]) * Real(k_row[d]);
        weight[s] = sum / std::sqrt(Real(D));
        largest = std::max(largest, weight[s]);
        result.largest_score = std::max(result.largest_score, std::abs(weight[s]));
      }
      for (int s = 0; s < seen; ++s) total += weight[s] = std::exp(weight[s] - largest);
      Real* out_row = result.out.data() + (size_t(t) * H + h) * D;
      for (int s = 0; s < seen; ++s) {
        const float* v_row = v.data() + s * stride + head;
        for (int d = 0; d < D; ++d) out_row[d] += weight[s] / total * Real(v_row[d]);
      }
    }
  return result;
}

/// What it is to give, to within eight times what plain float32 is off. That is taken to be at least four roundings of
/// the largest value, and at least what two scores do that are rounded once each: where they are nearly equal,
/// each takes half of the values, and the halves move by half of that.
inline void solve(Case& c) {
  const auto [want, largest_score] = plain_attention<double>(c.sizes, c.q, c.k, c.v);
  const auto plain = plain_attention<float>(c.sizes, c.q, c.k, c.v).out;
  double largest_value = 0;
  for (const double v : values(c.v)) largest_value = std::max(largest_value, std::abs(v));
  double error = unit_roundoff * largest_score * largest_value;
  for (size_t i = 0; i < want.size(); ++i)
    error = std::max({error, std::abs(plain[i] - want[i]), 4 * unit_roundoff * std::abs(want[i])});
  c.want = want;
  c.tolerance = 8 * error;
}

/// Random queries, `size` large, keys and values.
inline Case random_case(const Sizes& sizes, float size = 4) {
  const auto [T, S, H, G, D] = sizes;
  Case c{sizes, random_tensor({T, H, D}, 1), random_tensor({S, G, D}, 2), random_tensor({S, G, D}, 3), {}, 0};
  for (float& x : std::span(c.q.data(), size_t(c.q.count()))) x *= size;
  solve(c);
  return c;
}

/// Device memory that nobody has written, with a row more in front of what a
/// kernel gets, and one behind it.
struct Out {
  Tensor memory;
  float* data;
  Out(int rows, int H, int D) : memory(to_device(Tensor({rows + 2, H, D}))), data(memory.data() + size_t(H) * D) {}
  /// What was written. Fails when that is more than the kernel was given.
  Tensor read() const {
    const Tensor all = to_host(memory);
    const size_t row = size_t(all.dim(1) * all.dim(2)), last = size_t(all.count()) - row;
    bool clean = true;
    for (size_t i = 0; i < row; ++i)
      for (const size_t at : {i, last + i}) clean &= std::bit_cast<uint32_t>(all.data()[at]) == never_written;
    CHECK_MESSAGE(clean, "written beyond the rows of the result");
    return all.view_rows(1, all.dim(0) - 2).copy();
  }
};

inline Tensor integers(const std::vector<int>& values) {
  Tensor tensor({int64_t(values.size())}, DType::i32);
  std::copy(values.begin(), values.end(), tensor.data<int32_t>());
  return to_device(tensor);
}

}  // namespace rungs::test::attention_cases
