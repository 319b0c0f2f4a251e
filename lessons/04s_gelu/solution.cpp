#include <cmath>
#include <numbers>

#include "lesson.hpp"

namespace lesson_04s {

void gelu(Tensor& x) {
  for (int64_t i = 0; i < x.count(); ++i) {
    const float v = x.flat(i);
    // >>> x.flat(i) = v times the probability that a normally distributed number is below v; std::erf helps
    x.flat(i) = v * 0.5f * (1 + std::erf(v / std::numbers::sqrt2_v<float>));
    // <<<
  }
}

void gelu_tanh(Tensor& x) {
  const float factor = float(std::sqrt(2 / std::numbers::pi));  // √(2/π)
  for (int64_t i = 0; i < x.count(); ++i) {
    const float v = x.flat(i);
    // >>> x.flat(i) = the approximation with std::tanh
    x.flat(i) = v * 0.5f * (1 + std::tanh(factor * (v + 0.044715f * v * v * v)));
    // <<<
  }
}

}  // namespace lesson_04s
