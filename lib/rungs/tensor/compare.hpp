/// The only comparison in the project.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// How far an element may be off: |got - want| <= tolerance. Integers must be equal whatever the tolerance.
struct Tolerance {
  double absolute = 0;           ///< for every element
  const Tensor* each = nullptr;  ///< or one number an element, f32 or f64, of the shape of `want`
};

/// What compare found.
struct Comparison {
  bool pass = false;
  std::string shape_problem;                      ///< "" when the shapes match; else only fraction is filled
  int64_t count = 0;                              ///< elements
  int64_t wrong = 0;                              ///< over the tolerance
  int64_t nans = 0, infinite = 0, unwritten = 0;  ///< in `got`
  double fraction = 0;  ///< of the tolerance, used by the worst element; infinite where nothing but equality would do
  int64_t worst = 0;    ///< its place in memory order
  double got = 0, want = 0;  ///< its values
};

/// Compares element by element. NaN never passes; where either is infinite only equality passes.
Comparison compare(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

/// "token 3, channel 7": the indices of element `at` with the names of its dimensions.
std::string place_of(int64_t at, const Shape& shape, const std::vector<std::string>& dims);

}  // namespace rungs
