#include "rungs/checkpoint/pairs.hpp"

#include <cstring>

namespace rungs {

Tensor with_pairs_moved(const Tensor& weight, int64_t heads, Pairs to) {
  Tensor out = Tensor::uninitialised(weight.shape(), weight.dtype());
  const int64_t D = weight.dim(0) / heads;
  const size_t row = weight.dim(0) ? weight.bytes() / size_t(weight.dim(0)) : 0;
  const auto* from = static_cast<const char*>(weight.raw());
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < D / 2; ++i)
      for (int64_t j = 0; j < 2; ++j) {
        const int64_t neighbours = h * D + 2 * i + j, halves = h * D + i + j * (D / 2);
        const auto [source, target] =
            to == Pairs::halves ? std::pair(neighbours, halves) : std::pair(halves, neighbours);
        std::memcpy(static_cast<char*>(out.raw()) + size_t(target) * row, from + size_t(source) * row, row);
      }
  return out;
}

}  // namespace rungs
