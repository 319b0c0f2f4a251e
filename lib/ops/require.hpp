/// The check of shapes that begins an operation.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tensor/tensor.hpp"

namespace rungs {

/// \throws ShapeError naming the operation and every shape that took part.
template <class... T>
void require(bool fits, const char* operation, const T&... tensors) {
  if (fits) return;
  std::string shapes;
  ((shapes += (shapes.empty() ? "" : ", ") + to_string(tensors.shape())), ...);
  throw ShapeError(fmt::format("{}: these shapes do not fit together: {}", operation, shapes));
}

}  // namespace rungs
