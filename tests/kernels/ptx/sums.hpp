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

/// A float and what it is made of: significand · 2^(exponent - 23).
struct Factor {
  f32 value;
  s32 exponent;
  s64 significand;
};
Factor factor_of(f32 x);

/// 16 factors: of a row of a, or a column of b.
using Factors = std::array<Factor, 16>;

/// c + a · b
f32 add_products(f32 c, const Factors& a, const Factors& b, Adder adder);

}  // namespace rungs::ptx
