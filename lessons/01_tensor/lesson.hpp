/// Lesson 1: row-major memory, and the one product that a transformer is made of.
#pragma once

#include "rungs/tensor/tensor.hpp"

/// Lesson 1, 01_tensor.
namespace lesson_01 {

using namespace rungs;

/// The offset of element (row, column) in a row-major matrix of shape (rows, columns):
/// how many elements stand before it in memory.
int64_t offset(int64_t row, int64_t column, int64_t rows, int64_t columns);

/// out = x · weightᵀ + bias.
/// out: (T, N); x: (T, C); weight: (N, C), one row for each output; bias: (N).
void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace lesson_01
