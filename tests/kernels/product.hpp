/// What a matrix product must give, and how far it may be off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/device_memory.hpp"
#include "support.hpp"

namespace rungs::test {

/// The elements of a product in double, and the tolerance of each in f32: 8·√n·u·‖a∘b‖₂ for a sum of n products a∘b.
/// `largest` is the largest partial sum of each.
struct Product {
  std::vector<double> value, tolerance, largest;
};

/// a · bᵀ.  a: (M, K); b: (N, K); as many columns as both have.
inline Product product(const std::vector<double>& a, const std::vector<double>& b, int M, int N, int K) {
  Product p;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      double sum = 0, squares = 0, largest = 0;
      for (int k = 0; k < K; ++k) {
        const double term = a[size_t(m) * K + k] * b[size_t(n) * K + k];
        sum += term, squares += term * term;
        largest = std::max(largest, std::abs(sum));
      }
      p.value.push_back(sum);
      p.tolerance.push_back(8 * std::sqrt(double(K)) * unit_roundoff * std::sqrt(squares));
      p.largest.push_back(largest);
    }
  return p;
}

/// The same with what tensor cores add to the tolerance of a sum of n products. They round it n / 8 times (Hopper
/// n / 16), toward zero: by up to 2 u of the partial sum, and always to the same side while that keeps its sign, so
/// these errors add up to n / 8 · 2 u · |largest partial sum|. What they cut off before, of each of the 8 or 16
/// products and less than u of the largest of them, has the sign of that product: a random walk as in f32.
inline Product on_tensor_cores(Product p, int n) {
  for (size_t i = 0; i < p.value.size(); ++i) p.tolerance[i] += std::ceil(n / 8.0) * 2 * unit_roundoff * p.largest[i];
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
