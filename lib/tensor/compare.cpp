#include "tensor/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace rungs {

Comparison compare(const Tensor& got, const Tensor& want, const Budget& budget) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Comparison c;
  if (got.shape() != want.shape()) {
    c.shape_problem = fmt::format("its shape is {}, wanted {}", to_string(got.shape()), to_string(want.shape()));
    return c;
  }
  if (budget.each && budget.each->shape() != want.shape())
    throw ShapeError("compare: the budget has another shape than the reference");
  const bool integers = want.dtype() == DType::i32 || want.dtype() == DType::i64;
  c.count = want.count();
  double worst = -1;
  for (int64_t i = 0; i < c.count; ++i) {
    const double g = got.value(i), w = want.value(i);
    const double allowed = integers ? 0 : budget.each ? budget.each->value(i) : budget.absolute;
    c.nans += std::isnan(g);
    c.infinite += std::isinf(g);
    if (got.dtype() == DType::f32) c.unwritten += std::bit_cast<uint32_t>(got.data<float>()[i]) == never_written;
    const bool right = g == w || std::fabs(g - w) <= allowed;  // false for NaN; inf - inf is NaN
    const double share = g == w ? 0 : allowed > 0 ? std::fabs(g - w) / allowed : infinity;
    const double known = std::isnan(share) ? infinity : share;
    c.wrong += !right;
    if (known > worst) worst = known, c.worst = i, c.got = g, c.want = w;
  }
  c.share = std::max(worst, 0.0);
  c.pass = c.wrong == 0;
  return c;
}

std::string place_of(int64_t at, const Shape& shape, const std::vector<std::string>& dims) {
  std::string place;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const std::string name = size_t(d) < dims.size() ? dims[size_t(d)] : fmt::format("index {}:", d);
    place = fmt::format("{} {}{}{}", name, at % shape[d], place.empty() ? "" : ", ", place);
    at /= shape[d];
  }
  return place;
}

}  // namespace rungs
