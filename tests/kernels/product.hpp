/// What a matrix product must give, and how far it may be off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/device_memory.hpp"
#include "kernels/matmul/dot.hpp"
#include "support.hpp"

namespace rungs::test {

/// The elements of a product in double, and the tolerance of each in f32.
/// `largest` is the largest partial sum of each.
struct Product {
  std::vector<double> value, tolerance, largest;
};

/// a · bᵀ.  a: (M, K); b: (N, K); as many columns as both have.
inline Product product(const std::vector<double>& a, const std::vector<double>& b, int M, int N, int K) {
  Product p;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      Dot dot;
      for (int k = 0; k < K; ++k) dot.add(a[size_t(m) * K + k] * b[size_t(n) * K + k]);
      p.value.push_back(dot.sum);
      p.tolerance.push_back(dot.tolerance());
      p.largest.push_back(dot.largest);
    }
  return p;
}

/// The same with what tensor cores add to the tolerance of a sum of n products.
inline Product on_tensor_cores(Product p, int n) {
  for (size_t i = 0; i < p.value.size(); ++i) p.tolerance[i] += tolerance_of_tensor_cores(n, p.largest[i]);
  return p;
}

/// Random numbers in [-1, 1) of a dtype: f32, bf16 or f16.
inline Tensor random_floats(const Shape& shape, unsigned seed, DType dtype) {
  Tensor f32 = random_tensor(shape, seed);
  if (dtype == DType::f32) return f32;
  Tensor out(shape, dtype);
  for (int64_t i = 0; i < f32.count(); ++i) {
    const bf16 rounded = to_bf16(f32.flat(i));
    if (dtype == DType::bf16) {
      out.data<bf16>()[i] = rounded;
    } else {  // sign, exponents from 2⁻⁴ to 1 and any fraction
      const uint32_t bits = std::bit_cast<uint32_t>(f32.flat(i)) * 2654435761u;
      out.data<f16>()[i] = {uint16_t((bits >> 31) << 15 | (11 + (bits >> 20) % 4) << 10 | (bits & 1023))};
    }
  }
  return out;
}

/// On the device and full of NaN.
inline Tensor poisoned(const Shape& shape) { return to_device(Tensor(shape)); }

}  // namespace rungs::test
