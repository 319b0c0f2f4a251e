#include "rungs/tensor/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace rungs {

static bool is_integer(const Tensor& t) { return t.dtype() == DType::i32 || t.dtype() == DType::i64; }

static int64_t whole(const Tensor& t, int64_t i) {
  return t.dtype() == DType::i32 ? t.data<int32_t>()[i] : t.data<int64_t>()[i];
}

Comparison compare(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Comparison c;
  if (got.shape() != want.shape()) {
    c.shape_problem = fmt::format("its shape is {}, wanted {}", to_string(got.shape()), to_string(want.shape()));
    c.fraction = infinity;
    return c;
  }
  if (tolerance.each && tolerance.each->shape() != want.shape())
    throw ShapeError("compare: the tolerance has another shape than the reference");
  const bool integers = is_integer(got) && is_integer(want);
  c.count = want.count();
  double worst = -1;
  for (int64_t i = 0; i < c.count; ++i) {
    const double g = got.value(i), w = want.value(i);
    const double allowed = is_integer(want) ? 0 : tolerance.each ? tolerance.each->value(i) : tolerance.absolute;
    c.nans += std::isnan(g);
    c.infinite += std::isinf(g);
    if (got.dtype() == DType::f32) c.unwritten += std::bit_cast<uint32_t>(got.data<float>()[i]) == never_written;
    const bool same = integers ? whole(got, i) == whole(want, i) : g == w;  // an i64 may not fit in a double
    const double off = std::fabs(g - w);                                    // NaN and infinity are no distance
    const bool right = same || (!integers && std::isfinite(off) && off <= allowed);
    const double fraction = same ? 0 : std::isfinite(off) && allowed > 0 ? off / allowed : infinity;
    c.wrong += !right;
    if (fraction > worst) worst = fraction, c.worst = i, c.got = g, c.want = w;
  }
  c.fraction = std::max(worst, 0.0);
  c.pass = c.wrong == 0;
  return c;
}

std::string place_of(int64_t at, const Shape& shape, const std::vector<std::string>& dims) {
  std::string place;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const std::string name = size_t(d) < dims.size() ? dims[size_t(d)] : fmt::format("index {}:", d);
    const int64_t index = d == 0 ? at : at % shape[d];
    place = fmt::format("{} {}{}{}", name, index, place.empty() ? "" : ", ", place);
    if (shape[d] > 0) at /= shape[d];
  }
  return place;
}

}  // namespace rungs
