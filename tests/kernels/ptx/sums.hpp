/// How tensor cores add up products of bf16.
///
/// A group of products is added to the sum at once. Each addend, and the sum so far is one, is cut toward zero at a bit
/// that depends on the largest exponent among them; the rest is added without an error, and the result cut to f32.
/// NVIDIA does not document it. Measured by Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor
/// cores", PeerJ Computer Science 7:e330 (2021), and Xie, Wang, Yang, "MMA-Sim", arXiv 2511.10909 (2025).
#pragma once

#include <array>

#include "thread.hpp"

namespace rungs::ptx {

/// What differs between architectures.
struct Adder {
  u32 products;  ///< of a group
  s32 bits;      ///< that an addend keeps behind the point of the largest one
};
inline constexpr Adder ampere{8, 24}, hopper{16, 25};

/// 16 factors, of a row of a or a column of b, and what they are made of: significand · 2^(exponent - 23).
struct Factors {
  std::array<f32, 16> value{};
  std::array<s32, 16> exponent{}, significand{};

  void put(u32 k, f32 x);
};

/// c + a · b
f32 add_products(f32 c, const Factors& a, const Factors& b, Adder adder);

}  // namespace rungs::ptx
