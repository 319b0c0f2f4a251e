// Attention weights, from what attention reads, and as pictures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "show.hpp"

namespace rungs {

Tensor attention_weights(const Tensor& q, const Tensor& k) {
  const bool heads = q.shape().rank() == 3;
  const int64_t T = q.dim(0), H = heads ? q.dim(1) : 1, G = heads ? k.dim(1) : 1, D = q.cols();
  if (k.dim(0) != T || k.cols() != D || G == 0 || H % G != 0)
    throw ShapeError(
        fmt::format("attention weights: q {} and k {} do not fit", to_string(q.shape()), to_string(k.shape())));
  Tensor weights({H, T, T});
  for (int64_t h = 0; h < H; ++h)
    for (int64_t t = 0; t < T; ++t) {
      std::vector<double> row(static_cast<size_t>(t + 1));
      for (int64_t s = 0; s <= t; ++s) {
        const float *a = q.data() + (t * H + h) * D, *b = k.data() + (s * G + h / (H / G)) * D;
        double sum = 0;
        for (int64_t d = 0; d < D; ++d) sum += double(a[d]) * b[d];
        row[size_t(s)] = sum / std::sqrt(double(D));
      }
      const double most = *std::max_element(row.begin(), row.end());
      double sum = 0;
      for (double& score : row) sum += score = std::exp(score - most);
      for (int64_t s = 0; s < T; ++s) weights(h, t, s) = s <= t ? float(row[size_t(s)] / sum) : 0.0f;
    }
  return weights;
}

Matrix matrix_of(const std::string& title, const Tensor& values, const std::vector<std::string>& rows,
                 const std::vector<std::string>& columns, Shades shades) {
  Matrix m{title, rows, columns, {}};
  m.shades = shades;
  for (int64_t i = 0; i < values.count(); ++i) m.values.push_back(values.value(i));
  return m;
}

std::vector<Picture> attention_pictures(const Tensor& weights, const std::vector<std::string>& names,
                                        int64_t kv_heads) {
  const bool heads = weights.shape().rank() == 3;
  const int64_t H = heads ? weights.dim(0) : 1, T = weights.dim(heads ? 1 : 0), S = weights.cols();
  if (S > int64_t(names.size()) || T > S)
    throw UsageError(fmt::format("attention weights: wanted (T, S) of at most {} tokens, found {}", names.size(),
                                 to_string(weights.shape())));
  const std::vector<std::string> keys(names.begin(), names.begin() + S), queries(keys.end() - T, keys.end());
  std::vector<Picture> pictures;
  for (int64_t h = 0; h < H; ++h) {
    std::string title = H == 1 ? "one head" : fmt::format("head {}", h);
    if (H > 1 && kv_heads > 0 && kv_heads < H) title += fmt::format(", key/value head {}", h / (H / kv_heads));
    const ConstTensor own = heads ? weights[h] : weights.view();
    Matrix m = matrix_of(title, own, queries, keys, Shades::amount);
    m.most = 1, m.row_is = "query", m.column_is = "key";
    pictures.emplace_back(std::move(m));
  }
  return pictures;
}

}  // namespace rungs
