/// What an element of a matrix product must be, and how far it may be off: for tests and for the benchmark.
#pragma once

#include <algorithm>
#include <cmath>

namespace rungs {

/// One row of a matrix times one column of another, in double, product by product.
struct Dot {
  double sum = 0, squares = 0;  ///< Σ a·b and Σ (a·b)²
  double largest = 0;           ///< of the partial sums
  int terms = 0;

  void add(double product) {
    sum += product, squares += product * product, ++terms;
    largest = std::max(largest, std::abs(sum));
  }

  /// Of a sum of n products in f32, in any order: 8·√n·u·‖a∘b‖₂, with u = 2⁻²⁴.
  double tolerance() const { return 8 * std::sqrt(double(terms)) * 0x1p-24 * std::sqrt(squares); }
};

/// What tensor cores add to the tolerance of a sum of n products. They round it n / 8 times (Hopper n / 16), toward
/// zero: by up to 2 u of the partial sum, and always to the same side while that keeps its sign, so these errors add up
/// to n / 8 · 2 u · |largest partial sum|. What they cut off before, of each of the 8 or 16 products and less than u of
/// the largest of them, has the sign of that product: a random walk as in f32.
inline double tolerance_of_tensor_cores(int n, double largest) { return std::ceil(n / 8.0) * 2 * 0x1p-24 * largest; }

}  // namespace rungs
